// Sorts by unsigned keys: stable, and without comparisons, which a processor could mispredict.
#pragma once

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

namespace penstock {

/// Sorts `items` by the low `bits` of `key(item)`, least significant digit first. Items with equal keys keep their
/// order. Overwrites `spare`.
template <unsigned kDigit = 8, class Item, class Key>
void radix_sort(std::vector<Item>& items, std::vector<Item>& spare, unsigned bits, Key key) {
  spare.resize(items.size());
  for (unsigned shift = 0; shift < bits; shift += kDigit) {
    const auto digit = [&](const Item& item) { return (key(item) >> shift) & ((1U << kDigit) - 1); };
    std::array<std::size_t, std::size_t{1} << kDigit> place{};
    for (const Item& item : items) ++place[digit(item)];
    if (!items.empty() && place[digit(items.front())] == items.size()) continue;  // all digits are equal
    std::size_t next = 0;
    for (std::size_t& at : place) next += std::exchange(at, next);
    for (const Item& item : items) spare[place[digit(item)]++] = item;
    items.swap(spare);
  }
}

}  // namespace penstock
