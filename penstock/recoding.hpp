// The changes that packing may make to stored values: JPEG files, point clouds, and images that are stored as pixels.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <penstock/points.hpp>

namespace penstock {

/// How to re-encode JPEG files.
struct JpegRecoding {
  enum class Policy : std::uint8_t {
    keep,  ///< files stay unchanged, unless `max_side` shrinks them
    /// Progressive files become baseline ones with the same coefficients: identical pixels, at least twice as fast to
    /// decode. All other files stay unchanged, also those that cannot be re-encoded.
    baseline,
    /// Files become `jpt` fields (jpt.hpp): identical pixels, about twice as fast to decode, and the original file
    /// can be restored. Files that `jpt` cannot store stay unchanged.
    recode,
    original,  ///< `jpt` fields become the JPEG files that they were made from; files stay unchanged
    quality,   ///< every file is decoded and compressed again, as baseline JPEG with `quality`
  };
  Policy policy = Policy::keep;
  int quality = 90;  ///< 1 to 100, libjpeg's scale; also for images that `max_side` shrinks
  /// pixels; images with a longer side are shrunk to it, with the antialiased bilinear filter; 0: no limit
  std::int64_t max_side = 0;
  bool keeps_all() const { return policy == Policy::keep && max_side == 0; }
  friend bool operator==(const JpegRecoding&, const JpegRecoding&) = default;
};

/// How to reduce and reorder point clouds.
struct CloudRecoding {
  std::vector<SampleOptions> presample = {};  ///< applied one after the other
  PointOrder order = PointOrder::stored;      ///< random or stratified: see point_order.hpp
  std::vector<std::string> attributes = {};   ///< attributes kept besides the coordinates; {"all"}: every one
  bool keeps_all() const { return presample.empty() && order == PointOrder::stored; }
  friend bool operator==(const CloudRecoding&, const CloudRecoding&) = default;
};

/// How to store images as pixels.
struct PixelRecoding {
  bool decodes = false;
  std::vector<std::string> fields = {};  ///< fields whose images become pixels; empty: not decided yet
  std::int64_t height = 0, width = 0;    ///< size of every image; 0: that of the first image
  /// resizes images of other sizes until they cover it and keeps the middle; otherwise they are errors
  bool fits = false;
  bool keeps_all() const { return !decodes; }
  bool takes(std::string_view field) const;
  friend bool operator==(const PixelRecoding&, const PixelRecoding&) = default;
};

}  // namespace penstock
