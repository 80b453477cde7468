// The entropy coder: rANS of bytes, 64 states side by side, so that one core decodes more than a byte a nanosecond.
//
// State x of each lane lies in [2^16, 2^32). Symbol i of a run belongs to lane i % 64. To decode it, the slot x % 2^11
// names the symbol, and x = frequency * (x / 2^11) + slot - first slot of the symbol; where that is less than 2^16, the
// next 16-bit word follows below it. Lanes take their words in rising order, 64 symbols at a time.
// Source: J. Duda, "Asymmetric numeral systems" (2013); F. Giesen, "Interleaved entropy coders" (2014).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <transforms/image/jpt/rans_table.hpp>

namespace penstock::jpt {

inline constexpr std::size_t kLanes = 64;
inline constexpr std::uint32_t kFirstState = 1U << 16;  ///< of each lane, before the first symbol is encoded

/// Symbols may be written up to this many bytes past the end of what decode() was asked for.
inline constexpr std::size_t kRansSlack = 64;

struct RansDecoder {
  alignas(64) std::array<std::uint32_t, kLanes> states;
  const std::byte* next;  ///< the word to be read next
  const std::byte* end;   ///< of all bytes

  /// Begins with the states, which stand first: 64 of 4 bytes. False when there are too few bytes.
  bool begin(std::span<const std::byte> bytes);
  /// Decodes `count` symbols. False when the words end before the symbols.
  bool decode(const SlotTable& slots, std::size_t count, std::uint8_t* out);
};

/// Encodes runs of symbols, each with its table, in the order in which they are to be decoded.
class RansEncoder {
 public:
  void clear() { runs_.clear(); }
  /// `symbols` and `table` stay where they are until finish(). Each symbol must occur in the table.
  void add(std::span<const std::uint8_t> symbols, const RansTable& table) { runs_.push_back({symbols, &table}); }
  /// Appends states and words.
  void finish(std::vector<std::byte>& out);

 private:
  struct Run {
    std::span<const std::uint8_t> symbols;
    const RansTable* table;
  };
  std::vector<Run> runs_;
  std::vector<std::uint16_t> words_;  // the last one first
};

}  // namespace penstock::jpt
