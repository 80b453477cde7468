// Computes orders in which a cloud is stored so that a few neighbouring records are a sample of all.
#pragma once

#include <vector>

#include <transforms/clouds/samplers/sampler.hpp>

namespace penstock {

/// A permutation of 0 to points - 1, each equally likely: any run of consecutive entries, also one that goes on at the
/// beginning, is a uniform sample without replacement.
/// Source: Fisher and Yates; Durstenfeld, "Algorithm 235", CACM 7(7), 1964.
std::vector<std::uint32_t> random_order(std::uint64_t points, Random& random);

/// A permutation such that any run of consecutive entries, also one that goes on at the beginning, covers the cloud
/// evenly. The points are ranked along a Hilbert curve through the cube on their bounds (2^21 cells an edge); with 2^m
/// the power of two that is not below their number, the ranks come in the order reverse(s), reverse(s + 1), ..., where
/// reverse() turns the m bits of a number modulo 2^m round (van der Corput's sequence), s is drawn, and ranks that no
/// point has are left out.
///
/// For every j <= m the ranks fall into intervals of 2^(m - j), each a connected piece of the curve. A run of
/// consecutive entries takes from all intervals that are full the same number of points, or from some of them one more:
/// whole multiples of 2^j entries of a cloud of 2^m points take exactly the same from each. Throws Error as bounds_of()
/// does.
std::vector<std::uint32_t> stratified_order(const PointColumns& cloud, Random& random);

}  // namespace penstock
