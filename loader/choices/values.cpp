#include <bit>
#include <optional>

#include <loader/batch/sample_values.hpp>
#include <loader/choices/values.hpp>
#include <penstock/loader.hpp>

namespace penstock {

void for_each_sample(const Dataset& dataset, std::span<const std::uint32_t> fields,
                     const std::function<void(const SampleValues&)>& take, const std::function<void()>& tick) {
  if (fields.empty()) return for_each_key(dataset, take, tick);
  Loader loader(dataset, reading(dataset, fields));
  const auto looked_up = [&] {
    if (tick) tick();
  };
  const auto next = [&] {
    std::optional<Batch> batch = loader.next(looked_up);
    if (batch) looked_up();
    return batch;
  };
  for_each_row(dataset, fields, next, take);
}

std::shared_ptr<NumberTable> column_numbers(const Dataset& dataset, const Column& column,
                                            const std::function<void()>& tick) {
  auto numbers = std::make_shared<NumberTable>(dataset.size(), ~std::uint64_t{0});
  const std::uint32_t field = column.field();
  for_each_sample(
      dataset, {&field, 1},
      [&](const SampleValues& sample) {
        numbers->set(sample.sample, std::bit_cast<std::uint64_t>(column.number(sample, 0)));
      },
      tick);
  return numbers;
}

}  // namespace penstock
