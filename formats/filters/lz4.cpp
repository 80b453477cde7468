#include <algorithm>
#include <climits>
#include <cstdint>

#include <lz4.h>

#include <formats/filters/block_front.hpp>
#include <formats/filters/lz4.hpp>
#include <penstock/error.hpp>

namespace penstock {

bool lz4_is_linked() {
  return true;
}

void lz4_decompress(std::span<const std::byte> stored, std::span<std::byte> plain) {
  BlockFront front(stored, "lz4");
  if (front.big(8) != plain.size()) throw front.holds_other(plain.size());
  const std::uint64_t block = front.big(4);
  if (block == 0 || block > INT_MAX) throw front.broken();
  while (!plain.empty()) {
    const std::span<std::byte> part = plain.first(std::min<std::size_t>(plain.size(), block));
    const std::span<const std::byte> packed = front.take(front.big(4));
    if (packed.size() == part.size()) {
      std::copy(packed.begin(), packed.end(), part.begin());
    } else {
      lz4_decompress_block(packed, part);
    }
    plain = plain.subspan(part.size());
  }
}

void lz4_decompress_block(std::span<const std::byte> stored, std::span<std::byte> plain) {
  const bool possible = stored.size() <= INT_MAX && plain.size() <= INT_MAX;
  const int made = !possible ? -1
                             : LZ4_decompress_safe(reinterpret_cast<const char*>(stored.data()),
                                                   reinterpret_cast<char*>(plain.data()),
                                                   static_cast<int>(stored.size()), static_cast<int>(plain.size()));
  if (made < 0 || static_cast<std::size_t>(made) != plain.size()) throw Error::corrupt("lz4 block is broken");
}

}  // namespace penstock
