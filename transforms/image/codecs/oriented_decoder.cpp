#include <cstring>
#include <utility>

#include <transforms/image/codecs/image_decoder.hpp>
#include <transforms/image/codecs/oriented_decoder.hpp>

namespace penstock {

Layout OrientedDecoder::peek(const FieldBytes& field) {
  ready_ = nullptr;
  stored_ = inner_->peek(field);
  const unsigned orientation = orientation_of_(field);
  transposed_ = orientation >= 5;
  flipped_x_ = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  flipped_y_ = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  turn();
  ready_ = field.bytes.data();
  return layout_;
}

void OrientedDecoder::turn() {
  layout_ = stored_;
  if (transposed_) std::swap(layout_.shape[0], layout_.shape[1]);
}

std::optional<Size> OrientedDecoder::shrink(unsigned denominator) {
  const std::optional<Size> size = inner_->shrink(denominator);
  if (!size) return std::nullopt;
  stored_.shape[0] = size->height;
  stored_.shape[1] = size->width;
  turn();
  return Size{layout_.shape[1], layout_.shape[0]};
}

Region OrientedDecoder::stored(const Region& upright) const {
  Region r = upright;
  if (transposed_) {
    std::swap(r.x, r.y);
    std::swap(r.width, r.height);
  }
  if (flipped_x_) r.x = stored_.shape[1] - r.x - r.width;
  if (flipped_y_) r.y = stored_.shape[0] - r.y - r.height;
  return r;
}

void OrientedDecoder::decode(const FieldBytes& field, const Region* region, TensorView out) {
  if (ready_ == nullptr || ready_ != field.bytes.data()) peek(field);
  ready_ = nullptr;
  if (!transposed_ && !flipped_x_ && !flipped_y_) return inner_->decode(field, region, out);
  const Region want = checked_region(layout_, region, out), from = stored(want);
  const std::int64_t channels = stored_.shape[2];
  const std::int64_t pixel_bytes = channels * static_cast<std::int64_t>(size_of(stored_.dtype));
  const std::int64_t stride = from.width * pixel_bytes;
  pixels_.resize(static_cast<std::size_t>(from.height * stride));
  inner_->decode(field, &from, {pixels_.data(), out.dtype, {from.height, from.width, channels}});
  // Steps in bytes of the stored image for one pixel to the right and one down in the upright image.
  const std::int64_t step_x = flipped_x_ ? -pixel_bytes : pixel_bytes, step_y = flipped_y_ ? -stride : stride;
  const std::int64_t right = transposed_ ? step_y : step_x, down = transposed_ ? step_x : step_y;
  const std::byte* first =
      pixels_.data() + (flipped_x_ ? stride - pixel_bytes : 0) + (flipped_y_ ? (from.height - 1) * stride : 0);
  std::byte* to = out.data;
  for (std::int64_t y = 0; y < want.height; ++y) {
    const std::byte* pixel = first + y * down;
    for (std::int64_t x = 0; x < want.width; ++x, pixel += right, to += pixel_bytes)
      std::memcpy(to, pixel, static_cast<std::size_t>(pixel_bytes));
  }
}

}  // namespace penstock
