// Converts blocks of samples to pixels: selects the blocks of a region, upsamples, and converts colours.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <penstock/codec.hpp>
#include <penstock/geometry.hpp>
#include <transforms/image/dct/frame.hpp>

namespace penstock::jpt {

/// How a component's samples become pixels. Source: fancy upsampling in libjpeg-turbo's jdsample.c.
enum class Upsampling : std::uint8_t { none, widen, between, widen_between, repeat };
Upsampling upsampling(const Frame& frame, std::size_t component);

/// The blocks of a component that a region needs, including neighbours for upsampling.
BlockRange needed_blocks(const Frame& frame, std::size_t component, const Region& region);

/// Samples of some blocks of a component, in rows, with a margin that upsampling may read.
class Plane {
 public:
  /// Sets the blocks and their size, `side` by `side` samples.
  void assign(const BlockRange& blocks, unsigned side);
  const BlockRange& blocks() const { return blocks_; }
  /// Transforms `count` adjacent blocks of dequantised coefficients, the first of which is block (x, y) of the
  /// component. The inverse DCT may read kIdctSlack blocks after them, or kReducedSlack in shrunk images.
  void draw(std::size_t x, std::size_t y, const std::int16_t* coefficients, std::size_t count);
  /// Pointer to the sample (x, y) of the component, inside its row.
  std::uint8_t* at(std::size_t x, std::size_t y) {
    return samples_.get() + kMargin + (y - side_ * blocks_.y) * stride_ + (x - side_ * blocks_.x);
  }
  std::size_t stride() const { return stride_; }

 private:
  static constexpr std::size_t kMargin = 64;
  BlockRange blocks_;
  unsigned side_ = 8;
  std::size_t stride_ = 0;
  std::unique_ptr<std::uint8_t[]> samples_;
  std::size_t capacity_ = 0;
};

/// The planes of a region, in memory that is reused from image to image. Call begin(), draw all blocks of the planes,
/// then call write().
class Raster {
 public:
  void begin(const Frame& frame, const Region& region);
  Plane& plane(std::size_t component) { return planes_[component]; }
  /// Writes the region's pixels, (height, width, channels) bytes, with one channel (only for gray images) or three.
  /// `parallel` has threads that may help with large regions; null: none.
  void write(const Frame& frame, const Region& region, std::size_t channels, std::uint8_t* out,
             Parallel* parallel = nullptr);

 private:
  /// An upsampled row of each component.
  struct Rows {
    std::array<std::vector<std::uint8_t>, kMostComponents> of;
  };
  /// How the rows of a region follow from the samples of a component.
  struct Sampling {
    Upsampling how = Upsampling::none;
    std::size_t across = 1, down = 1;  ///< pixels per sample
    std::size_t from = 0, count = 0;   ///< the samples that the region's columns need
    std::size_t last = 0;              ///< row of samples
    std::size_t offset = 0;            ///< of the region's first column among the upsampled pixels
  };
  static Sampling sampling_of(const Frame& frame, std::size_t component, const Region& region);
  void extend_edges(const Frame& frame);
  void write_rows(const Frame& frame, const Region& region, std::size_t channels, std::uint64_t begin,
                  std::uint64_t end, Rows& made, std::uint8_t* out);
  static const std::uint8_t* pixel_row(Plane& plane, const Sampling& sampling, std::size_t y, std::uint8_t* made);

  std::array<Plane, kMostComponents> planes_;
  Rows rows_;
};

}  // namespace penstock::jpt
