#include <string>

#include <penstock/error.hpp>
#include <transforms/image/codecs/image_decoder.hpp>

namespace penstock {

void check_image_size(std::uint64_t width, std::uint64_t height, std::uint64_t channels) {
  if (width == 0 || height == 0) throw Error::corrupt("an image without pixels");
  if (width > kMaxImageBytes || height > kMaxImageBytes || width * height > kMaxImageBytes / channels) {
    throw Error::unsupported("an image of " + std::to_string(width) + " x " + std::to_string(height) +
                             " pixels is larger than 2^29 bytes");
  }
}

Region checked_region(const Layout& layout, const Region* region, const TensorView& out) {
  const std::int64_t height = layout.shape[0], width = layout.shape[1], channels = layout.shape[2];
  const Region r = region != nullptr ? *region : Region{0, 0, width, height};
  if (r.x < 0 || r.y < 0 || r.width < 1 || r.height < 1 || r.x > width - r.width || r.y > height - r.height) {
    throw Error::invalid_argument("the region to decode lies outside the image");
  }
  const std::uint64_t bytes = static_cast<std::uint64_t>(r.width * r.height * channels) * size_of(layout.dtype);
  if (out.dtype != layout.dtype || out.bytes() != bytes) {
    throw Error::invalid_argument("the output does not hold the region's pixels");
  }
  return r;
}

}  // namespace penstock
