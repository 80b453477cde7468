#include <algorithm>

#include <formats/encodings.hpp>
#include <penstock/codec.hpp>
#include <transforms/extension_of.hpp>

namespace penstock {

std::string_view extension_of(std::span<const std::byte> first_bytes) {
  for (const Codec* codec : codecs()) {
    if (codec->recognises(first_bytes)) return encoding_of_codec(codec->name())->extensions[0];
  }
  const auto found = std::ranges::find_if(encodings(), [&](const Encoding& encoding) {
    return encoding.codec.empty() && begins_as(encoding, first_bytes);
  });
  return found == encodings().end() ? std::string_view() : found->extensions[0];
}

}  // namespace penstock
