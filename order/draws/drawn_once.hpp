// Draws entries by weight without replacement: an epoch in which none comes twice, heavier ones sooner.
#pragma once

#include <cstdint>

#include <formats/lists/shared_numbers.hpp>
#include <order/draws/part_table.hpp>

namespace penstock {

/// -log2 of a number drawn evenly between 0 and 1, in units of 2^-32: what docs/order.md has above W(e) in `time`. From
/// 1 to 2^38.
std::uint64_t waiting_time(std::uint64_t draw);

/// The same, as docs/order.md says it: bit by bit, which takes ten times as long.
std::uint64_t waiting_time_by_squares(std::uint64_t draw);

/// Fills `order` with the first entries of an epoch, as many as it holds; so many have parts. Of large tables on all
/// cores, with nothing beside `order` but some megabytes.
void draw_once(const PartTable& parts, std::uint64_t key, SharedNumbers& order);

}  // namespace penstock
