// Computes the weights of antialiased resampling along one axis, in Pillow's fixed point.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <penstock/geometry.hpp>

namespace penstock {

/// The grid's pixels [first, first + count) along one axis, with the box of visible pixels that the grid covers.
struct Axis {
  double box_begin, box_length;  ///< in source pixels, from the first visible one
  std::int64_t visible;          ///< number of source pixels that may contribute
  std::int64_t grid, first, count;
  friend bool operator==(const Axis&, const Axis&) = default;
};

/// Output pixel i is the sum of pixel(begin(i) + t) * weights(i)[t], in units of 2^-22.
/// Source: Pillow 13, Resample.c: precompute_coeffs and normalize_coeffs_8bpc; equal to the last bit. Calls with the
/// same axis and filter reuse the computed weights.
class FilterWeights {
 public:
  static constexpr int kPrecisionBits = 32 - 8 - 2;

  void prepare(const Axis& axis, Interpolation filter);  ///< accepts every filter except nearest
  std::int64_t count() const { return static_cast<std::int64_t>(begins_.size()); }
  std::int64_t begin(std::int64_t i) const { return begins_[static_cast<std::size_t>(i)]; }
  std::span<const std::int32_t> weights(std::int64_t i) const {
    const auto index = static_cast<std::size_t>(i);
    return {values_.data() + index * stride_, static_cast<std::size_t>(counts_[index])};
  }
  std::size_t most_taps() const { return stride_; }  ///< upper limit for the taps of an output pixel
  std::int64_t taps_begin() const { return begins_.front(); }
  std::int64_t taps_end() const { return begins_.back() + counts_.back(); }

 private:
  template <class Kernel>
  void compute(const Axis& axis, double reach, Kernel kernel);

  Axis axis_{};
  Interpolation filter_ = Interpolation::nearest;
  std::size_t stride_ = 0;
  std::vector<std::int64_t> begins_, counts_;
  std::vector<std::int32_t> values_;
  std::vector<double> row_;
};

/// Returns the source pixels of nearest-neighbour resampling, counted from the first visible one.
/// Source: Pillow 13, Geometry.c: ImagingScaleAffine (positions are summed, not multiplied).
void nearest_pixels(const Axis& axis, std::vector<std::int64_t>& pixels);

}  // namespace penstock
