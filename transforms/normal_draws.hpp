// Draws normally distributed numbers that are the same on every machine.
#pragma once

#include <utility>

#include <penstock/random.hpp>

namespace penstock {

/// Returns two independent draws with mean 0 and standard deviation 1.
/// Source: Marsaglia and Bray, "A convenient method for generating normal variables", SIAM Review 6(3), 1964.
std::pair<double, double> draw_normals(Random& random);

}  // namespace penstock
