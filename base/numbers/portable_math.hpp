// Elementary functions that give the same bits on every machine, as those of C libraries do not: a draw or a matrix
// that is made from them is the same with every glibc, and with and without fused multiply-adds.
#pragma once

namespace penstock::portable {

/// Computed with twice a double's digits and then rounded: less than 0.5001 units in the last place from the true value
/// (1 where that is subnormal), so that 998 of 1,000 are those of glibc 2.36 on x86-64 and all others its neighbours.
/// Infinities, NaN, 0 and negative numbers give what IEEE 754-2019, section 9.2, says. Source: Dekker, "A
/// floating-point technique for extending the available precision", Numerische Mathematik 18, 1971; the reductions of
/// Hida, Li and Bailey, "Library for Double-Double and Quad-Double Arithmetic", 2007.
double exp(double x);
double log(double x);
double atan(double x);

/// log(x) of a positive normal number to about 1e-15, in a tenth of the time.
double quick_log(double x);

/// As exp() for |x| <= 1e6; NaN beyond, where the reduction would lose digits. No angle here comes near to that.
double sin(double x);
double cos(double x);
double tan(double x);

}  // namespace penstock::portable
