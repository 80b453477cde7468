#include <bit>
#include <string>

#include <formats/column.hpp>
#include <loader/choices/values.hpp>
#include <penstock/select.hpp>
#include <penstock/views.hpp>

namespace penstock {

Dataset sorted_by_column(const Dataset& dataset, std::string_view column, bool reverse,
                         const std::function<void()>& tick) {
  const auto numbers = column_numbers(dataset, Column(dataset, column), tick);
  return sorted_by_numbers(
      dataset, [&](std::uint64_t sample) { return std::bit_cast<double>((*numbers)[sample]); },
      "sort by " + std::string(column), reverse);
}

}  // namespace penstock
