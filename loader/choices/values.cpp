#include <optional>

#include <penstock/loader/choices/values.hpp>
#include <penstock/loader/loader.hpp>

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

}  // namespace penstock
