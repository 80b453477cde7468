// The entropy coder: rANS of bytes with 64 interleaved states, so that one core decodes more than a byte per
// nanosecond.
//
// Invariant: the state x of each lane is in [2^16, 2^32). Symbol i of a run belongs to lane i % 64. To decode it, the
// slot x % 2^11 selects the symbol. Then x = frequency * (x / 2^11) + slot - first slot of the symbol. If x is now
// below 2^16, the next 16-bit word is appended below it. Lanes take their words in ascending order, 64 symbols at a
// time.
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
inline constexpr std::uint32_t kFirstState = 1U << 16;  ///< state of each lane before the first symbol is encoded

/// Number of bytes after the end of decode()'s output that may be overwritten.
inline constexpr std::size_t kRansSlack = 64;

struct RansDecoder {
  alignas(64) std::array<std::uint32_t, kLanes> states;
  const std::byte* next;  ///< the next word to read
  const std::byte* end;   ///< end of all bytes

  /// Reads the states, 64 of 4 bytes, which come first. Returns false if there are too few bytes.
  bool begin(std::span<const std::byte> bytes);
  /// Decodes `count` symbols. Returns false if the words end too early.
  bool decode(const SlotTable& slots, std::size_t count, std::uint8_t* out);
};

/// Encodes runs of symbols, each with a table, in the order in which they are decoded.
class RansEncoder {
 public:
  void clear() { runs_.clear(); }
  /// `symbols` and `table` must stay valid until finish(). Each symbol must occur in the table.
  void add(std::span<const std::uint8_t> symbols, const RansTable& table) { runs_.push_back({symbols, &table}); }
  /// Appends states and words.
  void finish(std::vector<std::byte>& out);

 private:
  struct Run {
    std::span<const std::uint8_t> symbols;
    const RansTable* table;
  };
  std::vector<Run> runs_;
  std::vector<std::uint16_t> words_;  // in reverse order
};

}  // namespace penstock::jpt
