#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include <penstock/formats/deflate.hpp>
#include <penstock/formats/error.hpp>
#include <penstock/formats/filters.hpp>
#include <penstock/formats/zstd.hpp>

namespace penstock {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::size_t kFletcherTrailer = 4;

// Stored: byte 0 of every element, then byte 1 of every element, ...; bytes behind the last whole element as they are.
template <std::size_t Known>
void unshuffle(const std::byte* stored, std::byte* plain, std::size_t count, std::size_t element) {
  const std::size_t width = Known != 0 ? Known : element;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t b = 0; b < width; ++b) plain[i * width + b] = stored[b * count + i];
  }
}

void unshuffle(Bytes stored, std::span<std::byte> plain, std::size_t element) {
  const std::size_t count = element == 0 ? 0 : stored.size() / element;
  switch (element) {
    case 2:
      unshuffle<2>(stored.data(), plain.data(), count, element);
      break;
    case 4:
      unshuffle<4>(stored.data(), plain.data(), count, element);
      break;
    case 8:
      unshuffle<8>(stored.data(), plain.data(), count, element);
      break;
    default:
      unshuffle<0>(stored.data(), plain.data(), count, element);
  }
  const Bytes rest = stored.subspan(count * element);
  std::copy(rest.begin(), rest.end(), plain.end() - static_cast<std::ptrdiff_t>(rest.size()));
}

// Sums of big-endian 16-bit words, modulo 65535; an odd last byte counts as a word's high half.
std::uint32_t fletcher32(Bytes bytes) {
  constexpr std::size_t kWordsBeforeOverflow = 360;
  auto fold = [](std::uint32_t sum) { return (sum & 0xFFFF) + (sum >> 16); };
  auto byte = [&bytes](std::size_t i) { return std::to_integer<std::uint32_t>(bytes[i]); };
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  const std::size_t even = bytes.size() & ~std::size_t{1};
  for (std::size_t i = 0; i < even;) {
    const std::size_t end = std::min(even, i + 2 * kWordsBeforeOverflow);
    for (; i < end; i += 2) {
      first += byte(i) << 8 | byte(i + 1);
      second += first;
    }
    first = fold(first);
    second = fold(second);
  }
  if (even != bytes.size()) {
    first = fold(first + (byte(even) << 8));
    second = fold(second + first);
  }
  return fold(second) << 16 | fold(first);
}

Bytes check_fletcher32(Bytes stored) {
  if (stored.size() < kFletcherTrailer) throw Error::corrupt("block too short for its fletcher32 checksum");
  const Bytes plain = stored.first(stored.size() - kFletcherTrailer);
  std::uint32_t kept = 0;
  std::memcpy(&kept, stored.data() + plain.size(), kFletcherTrailer);
  const std::uint32_t sum = fletcher32(plain);
  // HDF5 before 1.6.3 stored the bytes of each half in the other order; the library accepts both, and so do we.
  const std::uint32_t swapped = (sum & 0x00FF00FF) << 8 | (sum >> 8 & 0x00FF00FF);
  if (kept != sum && kept != swapped) throw Error::corrupt("fletcher32 checksum of a block differs");
  return plain;
}

Bytes check_crc32(Bytes stored, std::uint32_t expected) {
  if (crc32(stored) != expected) throw Error::corrupt("CRC-32 of a block differs");
  return stored;
}

void swap_bytes(Bytes stored, std::span<std::byte> plain, std::size_t element) {
  const std::size_t count = element == 0 ? 0 : stored.size() / element;
  for (std::size_t i = 0; i < count; ++i) {
    const std::byte* first = stored.data() + i * element;
    std::reverse_copy(first, first + element, plain.data() + i * element);
  }
  const Bytes rest = stored.subspan(count * element);
  std::copy(rest.begin(), rest.end(), plain.end() - static_cast<std::ptrdiff_t>(rest.size()));
}

// Seven bits a byte, the lowest first; the top bit says that more follow. What lies beyond 64 bits is dropped, as
// protobuf's own readers do.
void decode_varints(Bytes stored, std::span<std::byte> plain) {
  constexpr std::size_t kLongest = 10;
  std::size_t at = 0, made = 0;
  while (at < stored.size()) {
    std::uint64_t value = 0;
    std::size_t length = 0;
    for (bool more = true; more; ++at, ++length) {
      if (at == stored.size() || length == kLongest) throw Error::corrupt("a varint does not end");
      const auto byte = std::to_integer<std::uint64_t>(stored[at]);
      value |= (byte & 0x7F) << (7 * length);
      more = (byte & 0x80) != 0;
    }
    if (plain.size() - made < sizeof(value)) throw Error::corrupt("block holds more varints than it should");
    std::memcpy(plain.data() + made, &value, sizeof(value));
    made += sizeof(value);
  }
  if (made != plain.size()) throw Error::corrupt("block holds fewer varints than it should");
}

Error wrong_length(std::size_t found, std::size_t expected) {
  return Error::corrupt("block of " + std::to_string(found) + " bytes where " + std::to_string(expected) +
                        " are expected");
}

void undo(const Filter& filter, Bytes stored, std::span<std::byte> plain) {
  const bool keeps_length = filter.id == Filter::Id::shuffle || filter.id == filter_id::byte_swap;
  if (keeps_length && stored.size() != plain.size()) throw wrong_length(stored.size(), plain.size());
  if (filter.id == Filter::Id::deflate) return inflate_zlib(stored, plain);
  if (filter.id == Filter::Id::shuffle) return unshuffle(stored, plain, filter.parameter);
  if (filter.id == filter_id::zstd) return zstd_decompress(stored, plain);
  if (filter.id == filter_id::raw_deflate) return inflate_raw(stored, plain);
  if (filter.id == filter_id::byte_swap) return swap_bytes(stored, plain, filter.parameter);
  if (filter.id == filter_id::varint) return decode_varints(stored, plain);
  throw Error::unsupported("filter number " + std::to_string(static_cast<unsigned>(filter.id)));
}

bool compresses(Filter::Id id) {
  return id == Filter::Id::deflate || id == filter_id::raw_deflate || id == filter_id::zstd || id == filter_id::varint;
}

bool is_checksum(Filter::Id id) {
  return id == Filter::Id::fletcher32 || id == filter_id::crc32;
}

// Bytes that go into filter number `position` when writing; nothing when a compression before it hides that.
std::optional<std::size_t> length_before(const Block& block, std::size_t position) {
  std::size_t length = static_cast<std::size_t>(block.decoded_length);
  for (std::size_t i = 0; i < position; ++i) {
    if (compresses(block.filters[i].id)) return std::nullopt;
    if (block.filters[i].id == Filter::Id::fletcher32) length += kFletcherTrailer;
  }
  return length;
}

// A place for the output of the next filter that `current` does not lie in.
std::span<std::byte> place(Bytes current, std::size_t length, std::span<std::byte> decoded,
                           std::span<std::byte> scratch) {
  if (length == decoded.size() && current.data() != decoded.data()) return decoded;
  const std::size_t half = scratch.size() / 2;
  const bool in_first = current.data() >= scratch.data() && current.data() < scratch.data() + half;
  return scratch.subspan(in_first ? half : 0, length);
}

// One step that makes the block's own bytes goes straight into its place.
bool needs_scratch(const Block& block) {
  const auto moving = std::count_if(block.filters.begin(), block.filters.end(),
                                    [](const Filter& filter) { return !is_checksum(filter.id); });
  return moving > 1 || std::any_of(block.filters.begin(), block.filters.end(),
                                   [](const Filter& filter) { return filter.id == Filter::Id::fletcher32; });
}

}  // namespace

std::uint64_t longest_decoded(std::uint64_t length, std::span<const Filter> filters) {
  constexpr std::uint64_t kBeyondAnyFile = std::uint64_t{1} << 40;
  for (const Filter& filter : filters) {
    if (length > kBeyondAnyFile) return length;
    if (filter.id == Filter::Id::deflate || filter.id == filter_id::raw_deflate) length = length * 1032 + 1032;
    if (filter.id == filter_id::zstd) length = length * 32768 + 32768;
    if (filter.id == filter_id::varint) length *= 8;
  }
  return length;
}

void undo_filters(const Block& block, std::span<const std::byte> stored, std::span<std::byte> decoded,
                  std::vector<std::byte>& scratch) {
  if (decoded.size() != block.decoded_length) {
    throw Error::invalid_argument("a block of " + std::to_string(block.decoded_length) +
                                  " bytes cannot be undone into " + std::to_string(decoded.size()));
  }
  if (needs_scratch(block)) {
    const std::size_t half = std::max(stored.size(), decoded.size() + block.filters.size() * kFletcherTrailer);
    if (scratch.size() < 2 * half) scratch.resize(2 * half);
  }
  Bytes current = stored;
  for (std::size_t i = block.filters.size(); i-- > 0;) {
    const Filter& filter = block.filters[i];
    const std::optional<std::size_t> length = length_before(block, i);
    if (filter.id == Filter::Id::fletcher32) {
      current = check_fletcher32(current);
    } else if (filter.id == filter_id::crc32) {
      current = check_crc32(current, filter.parameter);
    } else {
      if (compresses(filter.id) && !length) throw Error::unsupported("a block compressed twice");
      const std::span<std::byte> plain = place(current, length.value_or(current.size()), decoded, scratch);
      undo(filter, current, plain);
      current = plain;
    }
    if (length && current.size() != *length) throw wrong_length(current.size(), *length);
  }
  if (current.size() != decoded.size()) throw wrong_length(current.size(), decoded.size());
  if (current.data() != decoded.data()) std::copy(current.begin(), current.end(), decoded.begin());
}

}  // namespace penstock
