#include <penstock/error.hpp>
#include <transforms/image/codecs/channels.hpp>

namespace penstock {
namespace {

// Returns a hint if the shape is (channels, H, W), the layout of Caffe and of HDF5 files made for PyTorch.
std::string advice(const Layout& layout) {
  const Shape& shape = layout.shape;
  if (layout.dtype != DType::u8 || shape.size() != 3 || (shape[0] != 1 && shape[0] != 3 && shape[0] != 4)) return {};
  return ": its channels seem to come first, but image steps require (H, W, C); pack it again in that order, or use "
         "array.decode() to deliver it unchanged";
}

}  // namespace

PixelGrid pixels_of(const Layout& layout) {
  const Shape& shape = layout.shape;
  const std::int64_t channels = shape.size() == 2 ? 1 : shape.size() == 3 ? shape[2] : 0;
  const bool known = channels == 1 || channels == 3 || channels == 4;
  const bool deep = layout.image && layout.dtype == DType::u16;
  if ((layout.dtype != DType::u8 && !deep) || !known || shape[0] < 1 || shape[1] < 1) {
    throw Error::shape("is a " + std::string(name(layout.dtype)) + " array " + to_string(shape) + ", not an image" +
                       advice(layout));
  }
  return {{shape[1], shape[0]}, channels};
}

void match_channels(std::uint8_t* pixels, std::size_t count, std::int64_t found, std::int64_t wanted) {
  if (found == 1 && wanted == 3) {
    for (std::size_t i = count; i-- > 0;) pixels[i * 3] = pixels[i * 3 + 1] = pixels[i * 3 + 2] = pixels[i];
  } else if (found == 4 && wanted == 3) {
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t c = 0; c < 3; ++c) pixels[i * 3 + c] = pixels[i * 4 + c];
    }
  }
}

}  // namespace penstock
