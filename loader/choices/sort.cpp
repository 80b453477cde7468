#include <bit>
#include <string>

#include <penstock/formats/views/views.hpp>
#include <penstock/loader/choices/sort.hpp>
#include <penstock/loader/choices/values.hpp>

namespace penstock {

Dataset sorted_by_column(const Dataset& dataset, std::string_view column, bool reverse,
                         const std::function<void()>& tick) {
  const auto numbers = column_numbers(dataset, Column(dataset, column), tick);
  return sorted_by_numbers(
      dataset, [&](std::uint64_t sample) { return std::bit_cast<double>((*numbers)[sample]); },
      "sort by " + std::string(column), reverse);
}

}  // namespace penstock
