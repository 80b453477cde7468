#include <formats/encodings.hpp>
#include <penstock/codec.hpp>

namespace penstock {

std::optional<Size> Decoder::shrink(unsigned) {
  return std::nullopt;
}

bool Codec::recognises(std::span<const std::byte> first_bytes) const {
  const Encoding* encoding = encoding_of_codec(name());
  return encoding != nullptr && begins_as(*encoding, first_bytes);
}

bool Codec::select(const FieldHeader&, ByteRange, std::vector<ByteRange>&) const {
  return false;
}

bool Codec::select_region(const FieldHeader&, const Region&, unsigned, std::vector<ByteRange>&) const {
  return false;
}

std::optional<Layout> Codec::layout(const FieldHeader&) const {
  return std::nullopt;
}

std::vector<std::byte> Codec::header(std::span<const std::byte>) const {
  return {};
}

}  // namespace penstock
