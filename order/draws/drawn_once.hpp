// Draws entries by weight without replacement: no entry comes twice in an epoch, and heavier ones tend to come earlier.
#pragma once

#include <cstdint>

#include <formats/lists/shared_numbers.hpp>
#include <order/draws/part_table.hpp>

namespace penstock {

/// -log2 of a uniform number between 0 and 1, in units of 2^-32: the dividend of `time` in docs/order.md. From 1 to
/// 2^38.
std::uint64_t waiting_time(std::uint64_t draw);

/// The same, computed bit by bit as in docs/order.md, which takes ten times as long.
std::uint64_t waiting_time_by_squares(std::uint64_t draw);

/// Fills `order` with the first entries of an epoch. At least order.size() entries must have parts. Large tables are
/// drawn on all cores, with only some megabytes besides `order`.
void draw_once(const PartTable& parts, std::uint64_t key, SharedNumbers& order);

}  // namespace penstock
