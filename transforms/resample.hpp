// From decoded pixels to an output's slot in one pass: crop, antialiased resize, flip, normalize, cast and layout.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <penstock/formats/schema.hpp>
#include <penstock/transforms/filter_weights.hpp>
#include <penstock/transforms/geometry.hpp>

namespace penstock {

/// Decoded uint8 pixels, channels interleaved, in somebody else's memory.
struct PixelSource {
  const std::uint8_t* data;
  std::int64_t stride;    ///< bytes from row to row
  std::int64_t channels;  ///< 1 to 4
  Region region;          ///< the part of the stored image that `data` holds; at least Geometry::needed()
};

/// Where the output goes: dense (C, H, W), or (H, W, C) with `channels_last`, of Geometry::output() pixels.
/// Every element is pixel * scale[c] + bias[c], computed in float32 and rounded to nearest even; `u8` takes the pixels
/// as they are and leaves scale and bias aside.
struct PixelSink {
  std::byte* data;
  DType dtype = DType::u8;  ///< u8, f32, f16 or bf16
  bool channels_last = false;
  std::array<float, 4> scale{1, 1, 1, 1};
  std::array<float, 4> bias{};
};

enum class Filter : std::uint8_t {
  bilinear,  ///< antialiased: images
  nearest,   ///< masks
};

/// The filter's support for Geometry::needed().
inline double support(Filter filter) {
  return filter == Filter::bilinear ? FilterWeights::kSupport : 0.0;
}

/// One per worker: owns scratch rows and weight tables, which are reused from call to call.
class Resampler {
 public:
  /// Fills the sink; equal, before scale and bias, to Pillow's crop and resize (reducing_gap none) to the last bit.
  /// Throws Error: invalid_argument (source region smaller than needed, channels, dtype).
  void run(const PixelSource& source, const Geometry& geometry, Filter filter, const PixelSink& sink);

 private:
  void bilinear(const PixelSource& source, const Geometry& geometry, const PixelSink& sink);
  void nearest(const PixelSource& source, const Geometry& geometry, const PixelSink& sink);
  void copy(const PixelSource& source, const Geometry& geometry, const PixelSink& sink);
  void squeeze_rows(const PixelSource& source, const Geometry& geometry, const PixelSink& sink, std::int64_t first,
                    std::int64_t count);
  void prepare_interleaved(std::int64_t width, std::int64_t channels, const PixelSink& sink);
  void write_row(const std::uint8_t* row, std::int64_t y, std::int64_t channels, Size size, const PixelSink& sink);

  FilterWeights horizontal_, vertical_;
  std::vector<std::int64_t> columns_, rows_;       ///< nearest
  std::vector<std::uint8_t> turned_, squeezed_;    ///< blocks of 16 rows, before and after the horizontal pass
  std::vector<std::uint8_t> intermediate_, line_;  ///< rows between the passes; the finished row
  std::vector<float> scales_, biases_;             ///< for interleaved rows
};

}  // namespace penstock
