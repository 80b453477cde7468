#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include <base/numbers/load.hpp>
#include <formats/filters/bitshuffle.hpp>
#include <formats/filters/blosc.hpp>
#include <formats/filters/bzip2.hpp>
#include <formats/filters/declared_size.hpp>
#include <formats/filters/deflate.hpp>
#include <formats/filters/filters.hpp>
#include <formats/filters/lz4.hpp>
#include <formats/filters/lzf.hpp>
#include <formats/filters/scale_offset.hpp>
#include <formats/filters/widen.hpp>
#include <formats/filters/zstd.hpp>
#include <formats/io/checks_sums.hpp>
#include <formats/io/crc32c.hpp>
#include <formats/text/npy_header.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::size_t kFletcherTrailer = 4;
constexpr std::size_t kMostScaleOffsetAdds = kScaleOffsetHeader + 1;  // to the elements; libhdf5 adds a zero byte

// Upper limit for the decompressed bytes per stored byte; 0: the filter keeps lengths. deflate: 258 bytes in 2 bits
// (RFC 1951). varint: an int64 in a byte. lzf: 264 bytes in 3. lz4: a length byte of 255. zstd: a block of 128 KiB in 4
// bytes (RFC 8878, RLE_Block); blosc may contain zstd. bzip2: 900,000 runs of 255 bytes in 5 make a block of 30 bytes
// or more. scale_offset: equal elements need no bytes, so this is a limit of ours, 88 MiB from such a block.
std::uint64_t most_per_byte(Filter::Id id) {
  switch (id) {
    case Filter::Id::deflate:
    case Filter::Id::raw_deflate:
      return 1032;
    case Filter::Id::varint:
      return 8;
    case Filter::Id::lzf:
      return 88;
    case Filter::Id::lz4:
    case Filter::Id::bitshuffle_lz4:
      return 255;
    case Filter::Id::zstd:
    case Filter::Id::bitshuffle_zstd:
    case Filter::Id::blosc:
      return 32768;
    case Filter::Id::bzip2:
      return std::uint64_t{1} << 21;
    case Filter::Id::scale_offset:
      return std::uint64_t{1} << 22;
    case Filter::Id::shuffle:
    case Filter::Id::bitshuffle:
    case Filter::Id::fletcher32:
    case Filter::Id::crc32:
    case Filter::Id::byte_swap:
    case Filter::Id::crc32c:
    case Filter::Id::widen:
    case Filter::Id::npy_order:
    case Filter::Id::operand:
      break;
  }
  return 0;
}

bool compresses(Filter::Id id) {
  return most_per_byte(id) != 0;
}

// Stored order: byte 0 of every element, then byte 1 of every element, and so on. Bytes after the last whole element
// are unchanged.
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

// Sums of big-endian 16-bit words, modulo 65535. An odd last byte counts as the high half of a word.
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
  const auto kept = load<std::uint32_t>(stored, plain.size());
  const std::uint32_t sum = fletcher32(plain);
  // HDF5 before 1.6.3 stored the bytes of each half in the opposite order. libhdf5 accepts both orders, and so does
  // this.
  const std::uint32_t swapped = (sum & 0x00FF00FF) << 8 | (sum >> 8 & 0x00FF00FF);
  if (kept != sum && kept != swapped && kChecksSums) throw Error::corrupt("fletcher32 checksum of a block differs");
  return plain;
}

Bytes check_crc32(Bytes stored, std::uint32_t expected) {
  if (crc32(stored) != expected && kChecksSums) throw Error::corrupt("CRC-32 of a block differs");
  return stored;
}

Bytes check_crc32c(Bytes stored, std::uint32_t expected) {
  if (kChecksSums && crc32c(stored) != expected) throw Error::corrupt("CRC-32C of a block differs");
  return stored;
}

template <typename Word>
void swap_words(Bytes stored, std::span<std::byte> plain, Word (*swap)(Word)) {
  for (std::size_t at = 0; at + sizeof(Word) <= stored.size(); at += sizeof(Word)) {
    const Word word = swap(load<Word>(stored, at));
    std::memcpy(plain.data() + at, &word, sizeof(Word));
  }
}

void swap_bytes(Bytes stored, std::span<std::byte> plain, std::size_t element) {
  if (element == 0 || stored.size() % element != 0) throw Error::corrupt("block does not hold whole elements");
  switch (element) {
    case 2:
      return swap_words<std::uint16_t>(stored, plain, [](std::uint16_t word) { return __builtin_bswap16(word); });
    case 4:
      return swap_words<std::uint32_t>(stored, plain, [](std::uint32_t word) { return __builtin_bswap32(word); });
    case 8:
      return swap_words<std::uint64_t>(stored, plain,
                                       [](std::uint64_t word) -> std::uint64_t { return __builtin_bswap64(word); });
    default:
      for (std::size_t at = 0; at < stored.size(); at += element) {
        std::reverse_copy(stored.data() + at, stored.data() + at + element, plain.data() + at);
      }
  }
}

// Copies a .npy file, with its elements in C order. The header is unchanged.
void order_npy(Bytes stored, std::span<std::byte> plain) {
  const NpyHeader header = read_npy_header(stored);
  const std::size_t element = size_of(header.dtype), begin = header.data_begin;
  const std::uint64_t count = element_count(header.shape);
  if (count > (stored.size() - begin) / element)
    throw Error::corrupt("npy: ends before the last element of " + to_string(header.shape));
  const std::size_t end = header.fortran ? begin + count * element : begin;
  std::memcpy(plain.data(), stored.data(), begin);
  if (header.fortran) to_c_order(stored.data() + begin, plain.data() + begin, header.shape, element);
  std::memcpy(plain.data() + end, stored.data() + end, stored.size() - end);
}

// Seven bits per byte, the lowest first. The top bit means that more bytes follow. Bits beyond 64 are dropped, as in
// protobuf's own readers.
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
  return Error::corrupt("block of " + std::to_string(found) + " bytes, but " + std::to_string(expected) +
                        " are expected");
}

std::uint32_t operand_of(std::span<const Filter> filters) {
  if (filters.size() < 2 || filters[1].id != Filter::Id::operand) throw Error::corrupt("a filter without its operand");
  return filters[1].parameter;
}

void require_length(Bytes stored, std::span<const std::byte> plain) {
  if (stored.size() != plain.size()) throw wrong_length(stored.size(), plain.size());
}

// Reverses the first filter. Its operands follow it.
void undo(std::span<const Filter> filters, Bytes stored, std::span<std::byte> plain) {
  const Filter& filter = filters.front();
  switch (filter.id) {
    case Filter::Id::deflate:
      return inflate_zlib(stored, plain);
    case Filter::Id::raw_deflate:
      return inflate_raw(stored, plain);
    case Filter::Id::varint:
      return decode_varints(stored, plain);
    case Filter::Id::zstd:
      return zstd_decompress(stored, plain);
    case Filter::Id::lzf:
      return lzf_decompress(stored, plain);
    case Filter::Id::lz4:
      return lz4_decompress(stored, plain);
    case Filter::Id::blosc:
      return blosc_decompress(stored, plain);
    case Filter::Id::bzip2:
      return bzip2_decompress(stored, plain);
    case Filter::Id::bitshuffle_lz4:
      return bitshuffle_lz4_decompress(stored, plain, filter.parameter);
    case Filter::Id::bitshuffle_zstd:
      return bitshuffle_zstd_decompress(stored, plain, filter.parameter);
    case Filter::Id::scale_offset:
      return scale_offset_decompress(stored, plain, scale_offset_parameters(filters));
    case Filter::Id::bitshuffle:
      require_length(stored, plain);
      return bitunshuffle(stored, plain, filter.parameter, operand_of(filters));
    case Filter::Id::byte_swap:
      require_length(stored, plain);
      return swap_bytes(stored, plain, filter.parameter);
    case Filter::Id::shuffle:
      require_length(stored, plain);
      return unshuffle(stored, plain, filter.parameter);
    case Filter::Id::widen:
      return widen(stored, plain, filter.parameter);
    case Filter::Id::npy_order:
      require_length(stored, plain);
      return order_npy(stored, plain);
    case Filter::Id::fletcher32:
    case Filter::Id::crc32:
    case Filter::Id::crc32c:
    case Filter::Id::operand:
      break;  // undo_filters handles checksums and operands
  }
  throw Error::unsupported("filter number " + std::to_string(static_cast<unsigned>(filter.id)));
}

Bytes undo_exactly(std::span<const Filter> filters, Bytes stored, std::span<std::byte> plain) {
  undo(filters, stored, plain);
  return plain;
}

bool undoes_up_to(Filter::Id id) {
  return id == Filter::Id::deflate || id == Filter::Id::lzf;
}

// Reverses the first filter, for which undoes_up_to() is true, if its plain bytes may be fewer than `room` holds.
Bytes undo_up_to(std::span<const Filter> filters, Bytes stored, std::span<std::byte> room) {
  const bool deflated = filters.front().id == Filter::Id::deflate;
  return room.first(deflated ? inflate_zlib_up_to(stored, room) : lzf_decompress_up_to(stored, room));
}

bool is_checksum(Filter::Id id) {
  return id == Filter::Id::fletcher32 || id == Filter::Id::crc32 || id == Filter::Id::crc32c;
}

// Returns whether the filter is a step that moves bytes.
bool moves_bytes(Filter::Id id) {
  return !is_checksum(id) && id != Filter::Id::operand;
}

struct StepLength {
  std::size_t most;
  bool exact = true;  // false after scale_offset, because the lengths of its blocks depend on their elements
};

// Returns the bytes that enter filter number `position` when writing. Returns nothing if an earlier compression makes
// the length unknown.
std::optional<StepLength> length_before(const Block& block, std::size_t position) {
  StepLength length{static_cast<std::size_t>(block.decoded_length)};
  for (std::size_t i = 0; i < position; ++i) {
    const Filter& filter = block.filters[i];
    if (filter.id == Filter::Id::scale_offset && length.exact) {
      length = {length.most + kMostScaleOffsetAdds, false};
    } else if (compresses(filter.id)) {
      return std::nullopt;
    }
    if (filter.id == Filter::Id::fletcher32) length.most += kFletcherTrailer;
    if (filter.id == Filter::Id::widen) length.most /= growth_of_widening(filter.parameter);
  }
  return length;
}

bool fits(std::size_t found, const StepLength& length) {
  return length.exact ? found == length.most : found <= length.most;
}

// Returns the upper limit that the frames of compressed data declare. Returns nothing if the codec's frames declare
// none: longest_decoded() limits those.
std::optional<std::uint64_t> claim_of(std::span<const Filter> filters, Bytes stored) {
  switch (filters.front().id) {
    case Filter::Id::zstd:
      return zstd_claim(stored);
    case Filter::Id::lz4:
      return lz4_claim(stored);
    case Filter::Id::blosc:
      return blosc_claim(stored);
    case Filter::Id::bitshuffle_lz4:
    case Filter::Id::bitshuffle_zstd:
      return bitshuffle_claim(stored, filters.front().parameter);
    case Filter::Id::scale_offset:
      return scale_offset_claim(stored, scale_offset_parameters(filters).element);
    default:
      return std::nullopt;
  }
}

// Checks the declared size of the frame before memory is allocated for it. Checksums after the frame are not part of
// it. Other filters after the frame hide it, and those filters cannot expand data much.
void require_claim(const Block& block, Bytes stored) {
  for (std::size_t i = block.filters.size(); i-- > 0;) {
    const Filter::Id id = block.filters[i].id;
    if (id == Filter::Id::fletcher32) stored = stored.first(stored.size() - std::min(stored.size(), kFletcherTrailer));
    if (!moves_bytes(id)) continue;
    const std::optional<StepLength> length = length_before(block, i);
    const std::optional<std::uint64_t> claim =
        length && length->exact ? claim_of(std::span(block.filters).subspan(i), stored) : std::nullopt;
    if (claim && *claim < length->most) {
      throw Error::corrupt("block does not hold " + std::to_string(length->most) +
                           " bytes: its header declares at most " + std::to_string(*claim));
    }
    return;
  }
}

// Returns memory for the output of the next filter that does not overlap `current`.
std::span<std::byte> place(Bytes current, std::size_t length, std::span<std::byte> decoded,
                           std::span<std::byte> scratch) {
  if (length == decoded.size() && current.data() != decoded.data()) return decoded;
  const std::size_t half = scratch.size() / 2;
  const bool in_first = current.data() >= scratch.data() && current.data() < scratch.data() + half;
  return scratch.subspan(in_first ? half : 0, length);
}

// A single step writes the block's decoded bytes directly to their destination.
bool needs_scratch(const Block& block) {
  const auto moving = std::count_if(block.filters.begin(), block.filters.end(),
                                    [](const Filter& filter) { return moves_bytes(filter.id); });
  return moving > 1 || std::any_of(block.filters.begin(), block.filters.end(),
                                   [](const Filter& filter) { return filter.id == Filter::Id::fletcher32; });
}

}  // namespace

bool can_undo(Filter::Id id) {
  switch (id) {
    case Filter::Id::deflate:
    case Filter::Id::shuffle:
    case Filter::Id::fletcher32:
    case Filter::Id::lzf:
    case Filter::Id::raw_deflate:
    case Filter::Id::crc32:
    case Filter::Id::byte_swap:
    case Filter::Id::varint:
    case Filter::Id::crc32c:
    case Filter::Id::widen:
    case Filter::Id::npy_order:
    case Filter::Id::bitshuffle:
    case Filter::Id::scale_offset:
    case Filter::Id::operand:
      return true;
    case Filter::Id::zstd:
    case Filter::Id::bitshuffle_zstd:
      return zstd_is_linked();
    case Filter::Id::lz4:
    case Filter::Id::bitshuffle_lz4:
      return lz4_is_linked();
    case Filter::Id::bzip2:
      return bzip2_is_linked();
    case Filter::Id::blosc:
      return blosc_is_linked();
  }
  return false;
}

bool can_undo(std::span<const Filter> filters) {
  const Block block{.extent = {}, .filters = {filters.begin(), filters.end()}, .decoded_length = 0};
  for (std::size_t i = 0; i < filters.size(); ++i) {
    const Filter::Id id = filters[i].id;
    if (!can_undo(id)) return false;
    const std::optional<StepLength> length = length_before(block, i);
    if (compresses(id) && !(length && (length->exact || undoes_up_to(id)))) return false;
  }
  return true;
}

std::uint64_t longest_decoded(std::uint64_t length, std::span<const Filter> filters) {
  constexpr std::uint64_t kBeyondAnyFile = std::uint64_t{1} << 40, kMostGrowth = 8;
  std::uint64_t growth = 1;
  for (const Filter& filter : filters) {
    if (filter.id == Filter::Id::widen) growth *= growth_of_widening(filter.parameter);
    if (growth > kMostGrowth) throw Error::corrupt("a block converts its numbers to a wider dtype twice");
    if (!compresses(filter.id)) continue;
    length = length > kBeyondAnyFile ? length : (length + 1) * most_per_byte(filter.id);
    break;  // undo_filters refuses a second compression
  }
  return length > kBeyondAnyFile ? length : length * growth;
}

void undo_filters(const Block& block, std::span<const std::byte> stored, std::span<std::byte> decoded,
                  std::vector<std::byte>& scratch) {
  if (decoded.size() != block.decoded_length) {
    throw Error::invalid_argument("a block of " + std::to_string(block.decoded_length) +
                                  " bytes cannot be decompressed into " + std::to_string(decoded.size()));
  }
  if (needs_scratch(block)) {
    const std::size_t half =
        std::max(stored.size(), decoded.size() + block.filters.size() * kFletcherTrailer + kMostScaleOffsetAdds);
    if (scratch.size() < 2 * half) scratch.resize(2 * half);
  }
  Bytes current = stored;
  for (std::size_t i = block.filters.size(); i-- > 0;) {
    const Filter& filter = block.filters[i];
    if (filter.id == Filter::Id::operand) continue;
    const std::optional<StepLength> length = length_before(block, i);
    if (filter.id == Filter::Id::fletcher32) {
      current = check_fletcher32(current);
    } else if (filter.id == Filter::Id::crc32) {
      current = check_crc32(current, filter.parameter);
    } else if (filter.id == Filter::Id::crc32c) {
      current = check_crc32c(current, filter.parameter);
    } else {
      const bool grows = compresses(filter.id);
      const bool once = length && (length->exact || undoes_up_to(filter.id));
      if (grows && !once) throw Error::unsupported("a block compressed twice");
      const std::size_t room = length && (grows || length->exact) ? length->most : current.size();
      const std::span<std::byte> plain = place(current, room, decoded, scratch);
      const auto step = std::span(block.filters).subspan(i);
      current = grows && !length->exact ? undo_up_to(step, current, plain) : undo_exactly(step, current, plain);
    }
    if (length && !fits(current.size(), *length)) throw wrong_length(current.size(), length->most);
  }
  if (current.size() != decoded.size()) throw wrong_length(current.size(), decoded.size());
  if (current.data() != decoded.data()) std::copy(current.begin(), current.end(), decoded.begin());
}

void undo_filters(const Block& block, std::span<const std::byte> stored, std::vector<std::byte>& decoded,
                  std::vector<std::byte>& scratch) {
  require_claim(block, stored);
  decoded.resize(block.decoded_length);
  undo_filters(block, stored, std::span(decoded), scratch);
}

}  // namespace penstock
