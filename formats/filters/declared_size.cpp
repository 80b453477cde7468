#include <algorithm>
#include <array>
#include <optional>

#include <formats/filters/bitshuffle.hpp>
#include <formats/filters/block_front.hpp>
#include <formats/filters/declared_size.hpp>
#include <formats/filters/scale_offset.hpp>

namespace penstock {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::uint64_t kLz4PerByte = 255;

std::uint64_t sum(std::uint64_t a, std::uint64_t b) {
  return a > ~b ? ~std::uint64_t{0} : a + b;
}

struct ZstdHeader {
  std::optional<std::uint64_t> content;  // bytes that the frame declares, if it declares a size
  std::uint64_t longest_block = 0;
  bool checksum = false;
};

// Source: section 3.1.1.1.
ZstdHeader zstd_header(BlockFront& front) {
  constexpr std::array<std::size_t, 4> kDictionaryBytes{0, 1, 2, 4};
  constexpr std::uint64_t kLongestBlock = 128 << 10;
  const std::uint64_t descriptor = front.little(1);
  const bool single_segment = (descriptor >> 5 & 1) != 0;
  ZstdHeader header{.content = {}, .checksum = (descriptor >> 2 & 1) != 0};
  std::uint64_t window = 0;
  if (!single_segment) {
    const std::uint64_t byte = front.little(1);
    const std::uint64_t base = std::uint64_t{1} << (10 + (byte >> 3));
    window = base + base / 8 * (byte & 7);
  }
  front.skip(kDictionaryBytes[descriptor & 3]);
  switch (descriptor >> 6) {
    case 0:
      if (single_segment) header.content = front.little(1);
      break;
    case 1:
      header.content = front.little(2) + 256;
      break;
    case 2:
      header.content = front.little(4);
      break;
    default:
      header.content = front.little(8);
  }
  header.longest_block = std::min(kLongestBlock, single_segment ? *header.content : window);
  return header;
}

// Walks one frame, without its magic number. Source: sections 3.1.1.2 and 3.1.1.
std::uint64_t zstd_frame(BlockFront& front) {
  constexpr std::uint64_t kRun = 1, kReserved = 3;
  const ZstdHeader header = zstd_header(front);
  std::uint64_t holds = 0;
  for (bool last = false; !last;) {
    const std::uint64_t block = front.little(3);
    last = (block & 1) != 0;
    const std::uint64_t kind = block >> 1 & 3, size = block >> 3;
    if (kind == kReserved) throw front.broken();
    constexpr std::uint64_t kRaw = 0;
    holds = sum(holds, kind == kRaw || kind == kRun ? std::min(size, header.longest_block) : header.longest_block);
    front.skip(kind == kRun ? 1 : size);
  }
  if (header.checksum) front.skip(4);
  return std::min(holds, header.content.value_or(holds));
}

// Upper limit for the decompressed bytes per stored byte, by the number of blosc's codec in the header.
std::uint64_t blosc_per_byte(std::uint64_t codec) {
  constexpr std::uint64_t kBloscLz = 0, kLz4 = 1, kSnappy = 2, kZlib = 3;
  if (codec == kBloscLz || codec == kLz4 || codec == kSnappy) return kLz4PerByte;
  return codec == kZlib ? 1032 : 32768;
}

}  // namespace

std::uint64_t zstd_claim(Bytes stored) {
  constexpr std::uint64_t kFrame = 0xFD2FB528, kSkippable = 0x184D2A50;
  BlockFront front(stored, "zstd");
  std::uint64_t holds = 0;
  while (!front.empty()) {
    const std::uint64_t magic = front.little(4);
    if (magic == kFrame) {
      holds = sum(holds, zstd_frame(front));
    } else if ((magic & ~std::uint64_t{15}) == kSkippable) {
      front.skip(front.little(4));
    } else {
      throw front.broken();
    }
  }
  return holds;
}

std::uint64_t lz4_claim(Bytes stored) {
  BlockFront front(stored, "lz4");
  const std::uint64_t claim = front.big(8);
  const std::uint64_t block = front.big(4);
  for (std::uint64_t left = claim; left != 0;) {
    const std::uint64_t part = std::min(left, block), length = front.big(4);
    if (part == 0 || (part != length && part > (length + 1) * kLz4PerByte)) throw front.broken();
    front.skip(length);
    left -= part;
  }
  return claim;
}

std::uint64_t bitshuffle_claim(Bytes stored, std::uint64_t element) {
  BlockFront front(stored, "bitshuffle");
  const std::uint64_t claim = front.big(8), block = front.big(4);
  if (element == 0 || block % element != 0) throw front.broken();
  const std::uint64_t copied = claim / element % kBitshuffleMultiple * element;
  for (std::uint64_t left = claim - std::min(claim, copied); left != 0;) {
    const std::uint64_t part = std::min(left, block), length = front.big(4);
    if (part == 0) throw front.broken();
    front.skip(length);
    left -= part;
  }
  front.skip(copied);
  return claim;
}

std::uint64_t scale_offset_claim(Bytes stored, std::uint64_t element) {
  BlockFront front(stored, "scale-offset");
  const std::uint64_t bits = front.little(4);
  front.skip(kScaleOffsetHeader - 4);
  if (bits == 0) return ~std::uint64_t{0};  // all elements are equal
  return front.rest().size() * 8 / bits * element;
}

std::uint64_t blosc_claim(Bytes stored) {
  constexpr std::uint64_t kCopied = 2, kHead = 16;
  BlockFront front(stored, "blosc");
  front.skip(2);
  const std::uint64_t flags = front.little(1);
  front.skip(1);
  const std::uint64_t claim = front.little(4);
  front.skip(8);
  const std::uint64_t data = stored.size() - kHead;
  return std::min(claim, (flags & kCopied) != 0 ? data : data * blosc_per_byte(flags >> 5));
}

}  // namespace penstock
