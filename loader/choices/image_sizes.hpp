// The sizes of images, from their headers.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>

#include <penstock/formats/dataset.hpp>
#include <penstock/formats/views/sample_list.hpp>

namespace penstock {

/// Of an image: neither side is shorter than `shortest`, nor longer than `longest`.
struct Sides {
  std::int64_t shortest = 0;
  std::int64_t longest = std::numeric_limits<std::int64_t>::max();
};

/// The samples that have the field, with an image of such sides (as it is stored, not turned upright). Reads the first
/// 64 KiB of each value on all cores, and the whole of those that these do not tell of. Throws Error: corrupt,
/// unsupported, naming the first sample by number whose value is no image that can be read; io; what `tick` throws.
SampleList with_sides(const Dataset& dataset, std::uint32_t field, const Sides& sides,
                      const std::function<void()>& tick = {});

}  // namespace penstock
