#include <algorithm>
#include <bit>
#include <cstring>

#include <penstock/error.hpp>
#include <transforms/image/jpt/rans_table.hpp>

namespace penstock::jpt {
namespace {

constexpr unsigned kClassBits = 5, kClassMask = 31;
/// Relative frequencies in steps of at most a quarter. The rounding loses 0.2 % of the size.
constexpr std::array<std::uint16_t, 32> kWeights{0,  1,   2,   3,   4,   5,   6,   7,   8,   10,  12,
                                                 14, 16,  20,  24,  28,  32,  40,  48,  56,  64,  80,
                                                 96, 128, 160, 192, 256, 320, 448, 640, 896, 1280};

/// Returns the symbol at a place in storage order.
unsigned symbol_at(unsigned place, bool is_signed) {
  if (!is_signed) return place;
  return (place & 1U) != 0 ? 255U - place / 2 : place / 2;
}

/// Returns the number of places up to the last symbol that occurs.
unsigned used_places(const RansTable& table) {
  for (unsigned place = 256; place > 0; --place)
    if (table.classes[symbol_at(place - 1, table.is_signed)] != 0) return place;
  return 0;
}

class BitWriter {
 public:
  explicit BitWriter(std::vector<std::byte>& out) : out_(out) {}
  void put(std::uint32_t value, unsigned bits) {
    held_ |= std::uint64_t{value} << count_;
    for (count_ += bits; count_ >= 8; count_ -= 8, held_ >>= 8) out_.push_back(static_cast<std::byte>(held_ & 0xFF));
  }
  void finish() {
    if (count_ > 0) out_.push_back(static_cast<std::byte>(held_ & 0xFF));
  }

 private:
  std::vector<std::byte>& out_;
  std::uint64_t held_ = 0;
  unsigned count_ = 0;
};

class BitReader {
 public:
  explicit BitReader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  /// Returns the next bits, followed by zeros at the end. At least 56 of them are valid.
  std::uint64_t peek() {
    const std::size_t byte = next_ / 8;
    std::uint64_t held = 0;
    if (byte + 8 <= bytes_.size())
      std::memcpy(&held, bytes_.data() + byte, 8);
    else if (byte < bytes_.size())
      std::memcpy(&held, bytes_.data() + byte, bytes_.size() - byte);
    return held >> next_ % 8;
  }
  void skip(std::size_t bits) { next_ += bits; }
  std::uint32_t get(unsigned bits) {
    const std::uint64_t value = peek() & ((std::uint64_t{1} << bits) - 1);
    skip(bits);
    return static_cast<std::uint32_t>(value);
  }
  std::size_t bytes_read() const { return (next_ + 7) / 8; }

 private:
  std::span<const std::byte> bytes_;
  std::size_t next_ = 0;  // in bits
};

/// Returns the class whose weight is nearest, as a ratio, to count / total of all frequencies.
std::uint8_t class_for(std::uint32_t count, std::uint64_t total) {
  if (count == 0) return 0;
  const double wanted = static_cast<double>(count) * kProbabilityTotal / static_cast<double>(total);
  std::uint8_t best = 1;
  while (best + 1U < kWeights.size() && wanted * wanted > static_cast<double>(kWeights[best] * kWeights[best + 1U]))
    ++best;
  return best;
}

}  // namespace

std::array<std::uint16_t, 256> RansTable::frequencies() const {
  std::array<std::uint16_t, 256> result{};
  std::uint64_t total = 0;
  for (const std::uint8_t kind : classes) total += kWeights[kind];
  if (total == 0) return result;
  const std::uint64_t scale = (std::uint64_t{kProbabilityTotal} << 32) / total;
  std::array<std::uint16_t, kWeights.size()> scaled{};
  for (std::size_t kind = 1; kind < kWeights.size(); ++kind)
    scaled[kind] = static_cast<std::uint16_t>(
        std::max<std::uint64_t>(1, (kWeights[kind] * scale + (std::uint64_t{1} << 31)) >> 32));
  std::int32_t rest = kProbabilityTotal;
  for (std::size_t symbol = 0; symbol < 256; ++symbol) {
    result[symbol] = scaled[classes[symbol]];
    rest -= result[symbol];
  }
  // The most frequent symbol absorbs the rounding error.
  while (rest != 0) {
    std::uint16_t& most = *std::ranges::max_element(result);
    const std::int32_t change = std::max(rest, -(most / 2));
    most = static_cast<std::uint16_t>(most + change);
    rest -= change;
  }
  return result;
}

RansTable table_for(const Counts& counts, bool is_signed) {
  RansTable table{.is_signed = is_signed};
  std::uint64_t total = 0;
  for (const std::uint32_t count : counts) total += count;
  for (std::size_t symbol = 0; symbol < 256; ++symbol) table.classes[symbol] = class_for(counts[symbol], total);
  return table;
}

std::size_t stored_bits(const RansTable& table) {
  const auto absent = static_cast<std::size_t>(std::ranges::count(table.classes, 0));
  return 1 + 9 + used_places(table) + kClassBits * (256 - absent);
}

void store_tables(std::span<const RansTable> tables, std::vector<std::byte>& out) {
  BitWriter bits(out);
  for (const RansTable& table : tables) {
    const unsigned places = used_places(table);
    bits.put(table.is_signed ? 1 : 0, 1);
    bits.put(places, 9);
    for (unsigned place = 0; place < places; ++place) {
      const std::uint8_t kind = table.classes[symbol_at(place, table.is_signed)];
      bits.put(kind != 0 ? 1 : 0, 1);
      if (kind != 0) bits.put(kind, kClassBits);
    }
  }
  bits.finish();
}

std::size_t load_tables(std::span<const std::byte> bytes, std::span<RansTable> tables) {
  BitReader bits(bytes);
  for (RansTable& table : tables) {
    table = {};
    table.is_signed = bits.get(1) != 0;
    const unsigned places = bits.get(9);
    if (places > 256) throw Error::corrupt("jpt: a table of more than 256 symbols");
    for (unsigned place = 0; place < places;) {
      const std::uint64_t held = bits.peek();
      // A peek has 56 valid bits, so at most 48 are examined at a time.
      const auto absent = std::min(48U, static_cast<unsigned>(std::countr_zero(held)));
      place += absent;
      if (absent == 48 || place >= places) {
        bits.skip(std::min(absent, places + absent - place));
        continue;
      }
      table.classes[symbol_at(place++, table.is_signed)] = static_cast<std::uint8_t>(held >> (absent + 1) & kClassMask);
      bits.skip(absent + 1 + kClassBits);
    }
  }
  if (bits.bytes_read() > bytes.size()) throw Error::corrupt("jpt: the tables end too early");
  return bits.bytes_read();
}

void build_slots(const RansTable& table, SlotTable& slots) {
  constexpr std::size_t kAtOnce = 8;
  const std::array<std::uint16_t, 256> frequencies = table.frequencies();
  std::size_t slot = 0;
  for (std::uint32_t symbol = 0; symbol < 256; ++symbol) {
    std::uint32_t entry = symbol | std::uint32_t{frequencies[symbol]} << 8;
    const std::size_t end = slot + frequencies[symbol];
    // Writes kAtOnce slots at a time; the next symbol overwrites the excess.
    for (; slot < end; slot += kAtOnce, entry += kAtOnce << 20)
      for (std::uint32_t i = 0; i < kAtOnce; ++i) slots[slot + i] = entry + (i << 20);
    slot = end;
  }
  std::fill(slots.begin() + static_cast<std::ptrdiff_t>(slot), slots.end(), 0U);
}

}  // namespace penstock::jpt
