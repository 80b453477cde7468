#include <algorithm>

#include <formats/encodings.hpp>
#include <transforms/first_bytes.hpp>

namespace penstock {

const Codec* recognised_codec(std::span<const std::byte> first_bytes) {
  const auto found = std::ranges::find_if(codecs(), [&](const Codec* codec) { return codec->recognises(first_bytes); });
  return found == codecs().end() ? nullptr : *found;
}

bool is_delivered_as_stored(const FieldSchema& schema, std::span<const std::byte> first_bytes) {
  if (codec_named(schema.codec) != nullptr) return kind_of_codec(schema.codec) == ValueKind::text;
  return recognised_codec(first_bytes) == nullptr;
}

std::string_view extension_of(std::span<const std::byte> first_bytes) {
  if (const Codec* codec = recognised_codec(first_bytes)) return encoding_of_codec(codec->name())->extensions[0];
  const auto found = std::ranges::find_if(encodings(), [&](const Encoding& encoding) {
    return encoding.codec.empty() && begins_as(encoding, first_bytes);
  });
  return found == encodings().end() ? std::string_view() : found->extensions[0];
}

}  // namespace penstock
