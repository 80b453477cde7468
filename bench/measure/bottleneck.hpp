// Names the stage that limits a row of a sweep.
#pragma once

#include <string>
#include <string_view>

#include <penstock/bench/measure/sweep.hpp>

namespace penstock {

/// What limits the row: the stage that the consumer waited for longest; kConsumer, where it waited for less than 5 % of
/// its time. Empty where no loader was measured.
std::string bottleneck(const BenchRow& row);
inline constexpr std::string_view kConsumer = "consumer";

}  // namespace penstock
