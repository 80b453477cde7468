// Draws normally distributed numbers that are the same on every machine.
#pragma once

#include <utility>

#include <penstock/transforms/random.hpp>

namespace penstock {

/// Natural logarithm of a number in (0, 1], to about 1e-15; made of sums and products alone, because the last bit of
/// libm's depends on the processor.
double portable_log(double value);

/// Two independent draws of mean 0 and deviation 1.
/// Source: Marsaglia and Bray, "A convenient method for generating normal variables", SIAM Review 6(3), 1964.
std::pair<double, double> draw_normals(Random& random);

}  // namespace penstock
