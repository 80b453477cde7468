// Draws how a batch is mixed, and mixes its rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <penstock/mix.hpp>
#include <penstock/random.hpp>
#include <penstock/tensor.hpp>

namespace penstock {

/// Draws, in this order: which of several, lambda, and for cutmix the middle of the box (x, y).
MixDraw draw_mix(std::span<const Mix> mixes, Size image, Random& random);

/// From Beta(alpha, alpha). Source: Johnk's algorithm up to 1, above it the quotient of two gamma variates after
/// Marsaglia and Tsang, "A Simple Method for Generating Gamma Variables", ACM TOMS 26(3), 2000.
double draw_beta(double alpha, Random& random);

/// row[i] = other[i] * (1 - lambda) + row[i] * lambda, each operation in float32, rounded to `dtype` (f32, f16, bf16).
void mix_rows(std::byte* row, const std::byte* other, DType dtype, std::uint64_t count, double lambda);

/// Copies a box of the other image into this one: (C, H, W), or (H, W, C).
void paste_box(const TensorView& image, const std::byte* other, const Region& box, bool channels_last);

}  // namespace penstock
