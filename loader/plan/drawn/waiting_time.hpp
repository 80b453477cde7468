// Times that are distributed exponentially, in whole numbers, so that all machines draw the same ones.
#pragma once

#include <cstdint>

namespace penstock {

/// -log2 of a number drawn evenly between 0 and 1, in units of 2^-32: what docs/order.md has above W(e) in `time`. From
/// 1 to 2^38.
std::uint64_t waiting_time(std::uint64_t draw);

/// The same, as docs/order.md says it: bit by bit, which takes ten times as long.
std::uint64_t waiting_time_by_squares(std::uint64_t draw);

}  // namespace penstock
