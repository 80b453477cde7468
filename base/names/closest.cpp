#include <algorithm>
#include <cstddef>
#include <vector>

#include <base/names/closest.hpp>

namespace penstock {
namespace {

// The number of characters to insert, remove or replace. Keeps one row of the table.
std::size_t distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  for (std::size_t j = 0; j <= to.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= from.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::size_t replaced = diagonal + (from[i - 1] == to[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

}  // namespace

std::string_view closest_name(std::string_view unknown, std::span<const std::string> known) {
  const auto far = [&](const std::string& name) { return distance(unknown, name); };
  const auto closest = std::ranges::min_element(known, {}, far);
  if (closest == known.end() || 3 * far(*closest) > std::max(unknown.size(), closest->size())) return {};
  return *closest;
}

}  // namespace penstock
