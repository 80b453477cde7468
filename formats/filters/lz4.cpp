#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstring>
#include <string>

#include <lz4.h>

#include <formats/filters/lz4.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

using Bytes = std::span<const std::byte>;

// Reads a big-endian number and removes it from the front.
std::uint64_t take(Bytes& rest, std::size_t bytes) {
  if (rest.size() < bytes) throw Error::corrupt("lz4 block ends early");
  std::uint64_t value = 0;
  for (const std::byte byte : rest.first(bytes)) value = value << 8 | std::to_integer<std::uint64_t>(byte);
  rest = rest.subspan(bytes);
  return value;
}

}  // namespace

bool lz4_is_linked() {
  return true;
}

void lz4_decompress(std::span<const std::byte> stored, std::span<std::byte> plain) {
  if (take(stored, 8) != plain.size())
    throw Error::corrupt("lz4 block does not hold " + std::to_string(plain.size()) + " bytes");
  const std::uint64_t block = take(stored, 4);
  if (block == 0 || block > INT_MAX) throw Error::corrupt("lz4 block is broken");
  while (!plain.empty()) {
    const std::span<std::byte> part = plain.first(std::min<std::size_t>(plain.size(), block));
    const std::uint64_t length = take(stored, 4);
    if (length > stored.size() || length > INT_MAX) throw Error::corrupt("lz4 block ends early");
    const Bytes packed = stored.first(length);
    if (length == part.size()) {
      std::memcpy(part.data(), packed.data(), length);
    } else {
      const int made =
          LZ4_decompress_safe(reinterpret_cast<const char*>(packed.data()), reinterpret_cast<char*>(part.data()),
                              static_cast<int>(length), static_cast<int>(part.size()));
      if (made < 0 || static_cast<std::size_t>(made) != part.size()) throw Error::corrupt("lz4 block is broken");
    }
    stored = stored.subspan(length);
    plain = plain.subspan(part.size());
  }
}

}  // namespace penstock
