// Draws the mix of a batch, and mixes its rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <penstock/mix.hpp>
#include <penstock/random.hpp>
#include <penstock/tensor.hpp>

namespace penstock {

/// Draws, in this order, the mix, lambda, and for cutmix the centre of the box (x, y).
MixDraw draw_mix(std::span<const Mix> mixes, Size image, Random& random);

/// Draws from Beta(alpha, alpha), by Johnk's algorithm for alpha up to 1. Above 1, the result is a quotient of two
/// gamma variates. Source: Marsaglia and Tsang, "A Simple Method for Generating Gamma Variables", ACM TOMS 26(3), 2000.
double draw_beta(double alpha, Random& random);

/// Sets row[i] to other[i] * (1 - lambda) + row[i] * lambda, each operation in float32, rounded to `dtype` (f32, f16,
/// bf16).
void mix_rows(std::byte* row, const std::byte* other, DType dtype, std::uint64_t count, double lambda);

/// Copies a box of the other image into this one. Both are (C, H, W), or (H, W, C).
void paste_box(const TensorView& image, const std::byte* other, const Region& box, bool channels_last);

}  // namespace penstock
