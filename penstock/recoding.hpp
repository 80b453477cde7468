// What packing may change in stored values: JPEG files, point clouds, and images that are stored as pixels.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <penstock/points.hpp>

namespace penstock {

struct JpegRecoding {
  enum class Policy : std::uint8_t {
    keep,      ///< files stay as they are, unless `max_side` shrinks them
    baseline,  ///< progressive files become baseline ones of the same coefficients: identical pixels, decoded at least
               ///< twice as fast; others stay as they are, and so does what cannot be made over
    recode,  ///< files become `jpt` fields (jpt.hpp): identical pixels at a multiple of the speed, the file can be had
             ///< back; what that cannot hold stays as it is
    original,  ///< `jpt` fields become the JPEG files they were made of; files stay as they are
    quality,   ///< every file is decoded and compressed again, baseline, with `quality`
  };
  Policy policy = Policy::keep;
  int quality = 90;           ///< 1 to 100, libjpeg's scale; also of what `max_side` shrinks
  std::int64_t max_side = 0;  ///< pixels; images with a longer side are shrunk to it, antialiased bilinear; 0: none
  bool keeps_all() const { return policy == Policy::keep && max_side == 0; }
  friend bool operator==(const JpegRecoding&, const JpegRecoding&) = default;
};

struct CloudRecoding {
  std::vector<SampleOptions> presample = {};  ///< one after the other
  PointOrder order = PointOrder::stored;      ///< random or stratified: see point_order.hpp
  std::vector<std::string> attributes = {};   ///< kept beside the coordinates; {"all"}: every one
  bool keeps_all() const { return presample.empty() && order == PointOrder::stored; }
  friend bool operator==(const CloudRecoding&, const CloudRecoding&) = default;
};

struct PixelRecoding {
  bool decodes = false;
  std::vector<std::string> fields = {};  ///< whose images become pixels; empty: not decided yet
  std::int64_t height = 0, width = 0;    ///< of every image; 0: that of the first one
  bool fits = false;  ///< images of other sizes are resized to cover it, and their middle is kept; else they are errors
  bool keeps_all() const { return !decodes; }
  bool takes(std::string_view field) const;
  friend bool operator==(const PixelRecoding&, const PixelRecoding&) = default;
};

}  // namespace penstock
