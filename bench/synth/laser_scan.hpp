// Simulates a laser scanner flown over a forest: the points that it measures, in their order.
#pragma once

#include <cstdint>
#include <vector>

#include <bench/synth/forest.hpp>
#include <bench/synth/las_writer.hpp>
#include <penstock/transforms/random.hpp>

namespace penstock {

/// Exactly `points` returns of pulses that are shot in flight strips to and fro and across, line by line: neighbours in
/// the order of the result are neighbours on the ground, and pulse times rise. A pulse goes straight down its slant,
/// loses light at each leaf it meets and ends at a trunk or the ground; its returns are numbered from the top, highest
/// first. A few pulses meet dust or birds, which are classified as noise. Positions are relative to the middle of the
/// forest in x and y, and to height 0.
std::vector<LaserReturn> scan(const Forest& forest, std::uint64_t points, Random& random);

}  // namespace penstock
