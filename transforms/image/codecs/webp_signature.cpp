#include <cstring>

#include <penstock/transforms/image/codecs/webp.hpp>

namespace penstock {

bool begins_as_webp(std::span<const std::byte> bytes) {
  return bytes.size() >= 12 && std::memcmp(bytes.data(), "RIFF", 4) == 0 &&
         std::memcmp(bytes.data() + 8, "WEBP", 4) == 0;
}

}  // namespace penstock
