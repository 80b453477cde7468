// Makes random resample passes of images and weights, by which every implementation is compared.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include <device/passes.hpp>

namespace penstock::test {

struct RandomResample {
  explicit RandomResample(std::minstd_rand& source) : random(source) {
    pass.images = 1 + below(ResamplePass::kMostImages);
    pass.height = 1 + below(60);
    pass.width = 1 + below(60);
    for (std::int32_t n = 0; n < pass.images; ++n) {
      const std::int32_t width = 1 + below(50), height = 1 + below(50);
      places.push_back({pixels.size(), tables.size()});
      ResampledImage& image = pass.image[n];
      image = {.pitch = 3 * width + below(20),
               .taps_x = 1 + below(std::min(width, 7)),
               .taps_y = 1 + below(std::min(height, 7)),
               .vertical_first = below(2) == 1,
               .flip = below(2) == 1,
               .flip_vertical = below(2) == 1};
      const std::int64_t bytes = image.pitch * (height - 1) + 3 * width;
      for (std::int64_t i = 0; i < bytes; ++i) pixels.push_back(static_cast<std::uint8_t>(random() >> 8));
      add_axis(pass.width, width, image.taps_x);
      add_axis(pass.height, height, image.taps_y);
    }
  }

  std::size_t image_bytes() const {
    return static_cast<std::size_t>(pass.height) * static_cast<std::size_t>(pass.width) * 3;
  }
  std::size_t bytes() const { return image_bytes() * places.size(); }  ///< of all outputs
  /// The pass over copies of pixels and tables.
  ResamplePass over(const std::uint8_t* from, const std::int32_t* numbers, void* to) const {
    ResamplePass made = pass;
    for (std::size_t n = 0; n < places.size(); ++n) {
      made.image[n].pixels = from + places[n].pixels;
      made.image[n].tables = numbers + places[n].tables;
      made.image[n].out = static_cast<std::uint8_t*>(to) + n * image_bytes();
    }
    return made;
  }

  std::vector<std::uint8_t> pixels;
  std::vector<std::int32_t> tables;

 private:
  struct Place {
    std::size_t pixels, tables;
  };
  std::int32_t below(std::int32_t bound) {
    return static_cast<std::int32_t>((random() >> 4) % static_cast<unsigned>(bound));
  }
  // Sums of weights from below nothing to two: levels are cut off at both ends.
  void add_axis(std::int32_t count, std::int32_t length, std::int32_t taps) {
    for (std::int32_t i = 0; i < count; ++i) tables.push_back(below(length - taps + 1));
    for (std::int32_t i = 0; i < count * taps; ++i) tables.push_back((below(2 << 22) - (1 << 20)) / taps);
  }

  std::minstd_rand& random;
  ResamplePass pass;
  std::vector<Place> places;
};

}  // namespace penstock::test
