#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include <order/draws/upper_half_sort.hpp>

namespace penstock {

void sort_by_upper_half(std::vector<std::uint64_t>& numbers) {
  constexpr unsigned kDigit = 11;
  constexpr std::size_t kValues = std::size_t{1} << kDigit;
  std::vector<std::uint64_t> other(numbers.size());
  for (unsigned shift = 32; shift < 64; shift += kDigit) {
    const auto digit = [shift](std::uint64_t number) { return ~(number >> shift) & (kValues - 1); };
    std::array<std::size_t, kValues> begin{};
    for (const std::uint64_t number : numbers) ++begin[digit(number)];
    if (std::ranges::find(begin, numbers.size()) != begin.end()) continue;  // all numbers have the same digit
    std::size_t before = 0;
    for (std::size_t& count : begin) before += std::exchange(count, before);
    for (const std::uint64_t number : numbers) other[begin[digit(number)]++] = number;
    numbers.swap(other);
  }
}

}  // namespace penstock
