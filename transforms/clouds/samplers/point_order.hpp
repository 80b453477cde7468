// Computes storage orders in which every short run of records is a sample of the whole cloud.
#pragma once

#include <vector>

#include <transforms/clouds/samplers/sampler.hpp>

namespace penstock {

/// Returns a uniformly drawn permutation of 0 to points - 1. Any run of consecutive entries, including one that wraps
/// around, is a uniform sample without replacement.
/// Source: Fisher and Yates; Durstenfeld, "Algorithm 235", CACM 7(7), 1964.
std::vector<std::uint32_t> random_order(std::uint64_t points, Random& random);

/// Returns a permutation in which any run of consecutive entries, including one that wraps around, covers the cloud
/// evenly. The points are ranked along a Hilbert curve through the cube on their bounds (2^21 cells per edge). Let 2^m
/// be the least power of two that is not below the number of points. The ranks follow in the order reverse(s),
/// reverse(s + 1), ...; reverse() reverses the m bits of a number modulo 2^m (van der Corput sequence), and s is drawn.
/// Ranks without a point are left out.
///
/// For every j <= m, the ranks form intervals of 2^(m - j), each a connected piece of the curve. A run of consecutive
/// entries takes equally many points from all full intervals, or one more from some of them. In a cloud of 2^m points,
/// a run of a multiple of 2^j entries takes exactly the same number from each. Throws the errors of bounds_of().
std::vector<std::uint32_t> stratified_order(const PointColumns& cloud, Random& random);

}  // namespace penstock
