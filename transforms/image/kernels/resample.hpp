// Resamples decoded pixels into an output's slot in one pass: crop, resize, flip, normalise, cast and layout.
//
// Method: Pillow's two passes with fixed-point weights and 8-bit pixels between them (Resample.c), on 16 rows at a
// time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <penstock/codec.hpp>
#include <penstock/geometry.hpp>
#include <penstock/schema.hpp>
#include <transforms/image/kernels/filter_weights.hpp>

namespace penstock {

/// Decoded uint8 pixels with interleaved channels. Does not own the memory.
struct PixelSource {
  const std::uint8_t* data;
  std::int64_t stride;    ///< bytes from row to row
  std::int64_t channels;  ///< 1 to 4
  Region region;          ///< the part of the stored image in `data`; at least Geometry::needed()
};

/// Destination of the output: dense (C, H, W), or (H, W, C) with `channels_last`, of Geometry::output() pixels.
/// Elements are pixel * scale[c] + bias[c], computed in float32 and rounded to nearest even. `u8` delivers the pixels
/// unchanged and ignores scale and bias.
struct PixelSink {
  std::byte* data;
  DType dtype = DType::u8;  ///< u8, f32, f16 or bf16
  bool channels_last = false;
  std::array<float, 4> scale{1, 1, 1, 1};
  std::array<float, 4> bias{};
};

/// Owns scratch rows and weight tables, which are reused from call to call. Each worker needs its own resampler.
class Resampler {
 public:
  /// Fills the sink. Before scale and bias, the result equals the crop and resize (without reducing_gap) of Pillow 13
  /// to the last bit. Pillow up to 12 differs by 1 if the height shrinks much more than the width.
  /// Throws Error: invalid_argument (source region smaller than needed, channels, dtype).
  void run(const PixelSource& source, const Geometry& geometry, Interpolation interpolation, const PixelSink& sink);
  /// Like Decoder::share(). Threads share the rows of large images.
  void share(Parallel* parallel) { parallel_ = parallel; }

 private:
  /// Scratch memory for rows. Each helping thread has one.
  struct Rows {
    std::vector<std::uint8_t> turned, squeezed;  ///< blocks of 16 rows, before and after the horizontal pass
    std::vector<std::uint8_t> between, line;     ///< 16 rows between the passes (vertical one first); finished rows
  };
  /// Calls body(rows, begin, end) for all of [0, count), on several threads if `work`, the operations per row, makes
  /// that worthwhile. A band begins at a multiple of 16.
  template <class Body>
  void in_bands(std::int64_t count, std::size_t work, const Body& body);

  void weigh(const PixelSource& source, const Geometry& geometry, Interpolation filter, const PixelSink& sink);
  void nearest(const PixelSource& source, const Geometry& geometry, const PixelSink& sink);
  void copy(const PixelSource& source, const Geometry& geometry, const PixelSink& sink);
  void across_then_down(const PixelSource& source, const Geometry& geometry, const PixelSink& sink);
  void down_then_across(const PixelSource& source, const Geometry& geometry, Interpolation filter,
                        const PixelSink& sink);
  void across(const std::uint8_t* rows, std::ptrdiff_t stride, std::size_t count, std::int64_t channels,
              const Geometry& geometry, const PixelSink& sink, Rows& scratch, std::uint8_t* out) const;
  std::size_t work_across(std::int64_t channels, const Geometry& geometry) const;
  PixelSource padded(const PixelSource& source, const Region& needed);
  void prepare_interleaved(std::int64_t width, std::int64_t channels, const PixelSink& sink);
  void write_row(const std::uint8_t* row, std::int64_t y, std::int64_t channels, const Geometry& geometry,
                 const PixelSink& sink) const;

  Parallel* parallel_ = nullptr;
  Rows own_;
  FilterWeights horizontal_, vertical_;
  std::vector<std::int64_t> columns_, rows_;  ///< for nearest
  std::vector<std::uint8_t> between_;         ///< all rows between the passes, if the horizontal one is first
  std::vector<std::uint8_t> padded_;          ///< copy of a narrow source
  std::vector<float> scales_, biases_;        ///< for interleaved rows
};

}  // namespace penstock
