#include <bit>
#include <string>

#include <penstock/formats/views/views.hpp>
#include <penstock/loader/choices/sort.hpp>
#include <penstock/loader/choices/values.hpp>

namespace penstock {

Dataset sorted_by_column(const Dataset& dataset, std::string_view column, bool reverse,
                         const std::function<void()>& tick) {
  const Column read(dataset, column);
  NumberTable numbers(dataset.size(), ~std::uint64_t{0});
  const std::uint32_t field = read.field();
  for_each_sample(
      dataset, {&field, 1},
      [&](const SampleValues& sample) {
        numbers.set(sample.sample, std::bit_cast<std::uint64_t>(read.number(sample, 0)));
      },
      tick);
  return sorted_by_numbers(
      dataset, [&](std::uint64_t sample) { return std::bit_cast<double>(numbers[sample]); },
      "sort by " + std::string(column), reverse);
}

}  // namespace penstock
