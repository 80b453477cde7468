// Resamples decoded pixels into an output's slot in one pass: crop, resize, flip, normalize, cast and layout.
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

/// One per worker: owns scratch rows and weight tables, which are reused from call to call.
class Resampler {
 public:
  /// Fills the sink; equal, before scale and bias, to the crop and resize (reducing_gap none) of Pillow 13 to the last
  /// bit. (Pillow until 12 differs by 1 where much more of the height than of the width is lost.)
  /// Throws Error: invalid_argument (source region smaller than needed, channels, dtype).
  void run(const PixelSource& source, const Geometry& geometry, Interpolation interpolation, const PixelSink& sink);
  /// As Decoder::share(): rows of a picture that takes long.
  void share(Parallel* parallel) { parallel_ = parallel; }

 private:
  /// What rows are made in; each thread that helps has its own.
  struct Rows {
    std::vector<std::uint8_t> turned, squeezed;  ///< blocks of 16 rows, before and after the horizontal pass
    std::vector<std::uint8_t> between, line;     ///< 16 rows between the passes, vertical first; finished rows
  };
  /// body(rows, begin, end) for all of [0, count), on several threads where that is worth it; a band begins at a
  /// multiple of 16. `work`: operations that one of them takes.
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
  std::vector<std::int64_t> columns_, rows_;  ///< nearest
  std::vector<std::uint8_t> between_;         ///< all rows between the passes, horizontal first
  std::vector<std::uint8_t> padded_;          ///< a narrow source
  std::vector<float> scales_, biases_;        ///< for interleaved rows
};

}  // namespace penstock
