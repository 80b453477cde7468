#include <algorithm>
#include <vector>

#include <formats/filters/bitshuffle.hpp>
#include <formats/filters/block_front.hpp>
#include <formats/filters/lz4.hpp>
#include <formats/filters/zstd.hpp>

namespace penstock {
namespace {

constexpr const char* kBitshuffle = "bitshuffle";

// Transposes 8 x 8 bits: bit c of byte r becomes bit r of byte c. Source: H. S. Warren, "Hacker's Delight", section
// 7-3.
std::uint64_t transposed_bits(std::uint64_t bits) {
  std::uint64_t swap = (bits ^ bits >> 7) & 0x00AA00AA00AA00AA;
  bits ^= swap ^ swap << 7;
  swap = (bits ^ bits >> 14) & 0x0000CCCC0000CCCC;
  bits ^= swap ^ swap << 14;
  swap = (bits ^ bits >> 28) & 0x00000000F0F0F0F0;
  return bits ^ swap ^ swap << 28;
}

// `rows` has the bit rows of `plain`, a multiple of 8 elements.
void restore_elements(const std::byte* rows, std::span<std::byte> plain, std::size_t element) {
  const std::size_t row_bytes = plain.size() / element / kBitshuffleMultiple;
  for (std::size_t byte = 0; byte < element; ++byte) {
    const std::byte* row = rows + byte * 8 * row_bytes;
    std::byte* to = plain.data() + byte;
    for (std::size_t group = 0; group < row_bytes; ++group) {
      std::uint64_t bits = 0;
      for (std::size_t bit = 0; bit < 8; ++bit)
        bits |= std::to_integer<std::uint64_t>(row[bit * row_bytes + group]) << (8 * bit);
      bits = transposed_bits(bits);
      for (std::size_t i = 0; i < 8; ++i, to += element) *to = static_cast<std::byte>(bits >> (8 * i));
    }
  }
}

// Calls `restore` with every block of `plain`. Returns the elements after the last block.
template <typename Restore>
std::span<std::byte> each_bitshuffle_block(std::span<std::byte> plain, std::uint64_t element, std::uint64_t block,
                                           const Restore& restore) {
  const BlockFront front({}, kBitshuffle);
  if (element == 0 || plain.size() % element != 0 || block == 0 || block % kBitshuffleMultiple != 0)
    throw front.broken();
  const std::uint64_t elements = plain.size() / element, copied = elements % kBitshuffleMultiple;
  for (std::uint64_t left = elements - copied; left != 0;) {
    const std::uint64_t count = std::min(left, block);
    restore(plain.first(count * element));
    plain = plain.subspan(count * element);
    left -= count;
  }
  return plain;
}

using Decompress = void(std::span<const std::byte>, std::span<std::byte>);

void decompress_blocks(std::span<const std::byte> stored, std::span<std::byte> plain, std::uint64_t element,
                       Decompress* decompress) {
  BlockFront front(stored, kBitshuffle);
  if (front.big(8) != plain.size()) throw front.holds_other(plain.size());
  const std::uint64_t block_bytes = front.big(4);
  if (element == 0 || block_bytes % element != 0) throw front.broken();
  std::vector<std::byte> rows(std::min<std::uint64_t>(block_bytes, plain.size()));
  const auto copied = each_bitshuffle_block(plain, element, block_bytes / element, [&](std::span<std::byte> part) {
    const std::span<std::byte> into = std::span(rows).first(part.size());
    decompress(front.take(front.big(4)), into);
    restore_elements(into.data(), part, element);
  });
  const auto rest = front.take(copied.size());
  std::copy(rest.begin(), rest.end(), copied.begin());
  if (!front.empty()) throw front.holds_other(plain.size());
}

}  // namespace

std::uint64_t bitshuffle_default_block(std::uint64_t element) {
  constexpr std::uint64_t kTargetBytes = 8192, kLeast = 128;
  return std::max(kTargetBytes / element / kBitshuffleMultiple * kBitshuffleMultiple, kLeast);
}

void bitunshuffle(std::span<const std::byte> stored, std::span<std::byte> plain, std::uint64_t element,
                  std::uint64_t block) {
  BlockFront front(stored, kBitshuffle);
  const auto copied = each_bitshuffle_block(plain, element, block, [&](std::span<std::byte> part) {
    restore_elements(front.take(part.size()).data(), part, element);
  });
  const auto rest = front.take(copied.size());
  std::copy(rest.begin(), rest.end(), copied.begin());
}

void bitshuffle_lz4_decompress(std::span<const std::byte> stored, std::span<std::byte> plain, std::uint64_t element) {
  decompress_blocks(stored, plain, element, lz4_decompress_block);
}

void bitshuffle_zstd_decompress(std::span<const std::byte> stored, std::span<std::byte> plain, std::uint64_t element) {
  decompress_blocks(stored, plain, element, zstd_decompress);
}

}  // namespace penstock
