// One record of a ledger. docs/spec/ledger.md defines it for other programs.
//
//    0  u32  CRC-32C of the record's number in its file (u64, from 0) followed by bytes 4 to 63
//    4  u32  kind
//    8  u64  time, nanoseconds since 1970
//   16  u64  six numbers, whose meaning depends on the kind
//
// All numbers are little-endian. The file's room for later records is zeros, so a record is never all zeros.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace penstock {

inline constexpr std::size_t kLedgerRecordBytes = 64;

struct LedgerRecord {
  /// move: the following batches do not continue the previous one. batch: next() delivered it. failed: next() threw
  /// instead; later batches follow it. end: the loader was destroyed. none: from the move on, last=drop omits the
  /// rest of the epoch.
  enum class Kind : std::uint32_t { move = 1, batch = 2, failed = 3, end = 4, none = 5 };

  Kind kind = Kind::end;
  std::uint64_t time = 0;
  std::array<std::uint64_t, 6> numbers{};
  friend bool operator==(const LedgerRecord&, const LedgerRecord&) = default;
};

/// The numbers of a `move`.
struct LedgerMove {
  std::uint64_t epoch = 0;
  std::uint64_t position = 0;  ///< positions of the epoch's order that all ranks had before: [0, position)
  std::uint64_t seed = 0, shuffle_block = 0, start = 0, batch = 0;  ///< same meaning as in Position

  LedgerRecord record(std::uint64_t time) const {
    return {LedgerRecord::Kind::move, time, {epoch, position, seed, shuffle_block, start, batch}};
  }
  static LedgerMove of(const LedgerRecord& record) {
    const auto& n = record.numbers;
    return {.epoch = n[0], .position = n[1], .seed = n[2], .shuffle_block = n[3], .start = n[4], .batch = n[5]};
  }
};

/// The numbers of `batch`, `failed` and `none`.
struct LedgerBatch {
  std::uint64_t batch = 0;           ///< of this rank, counted from the move's `start`
  std::uint64_t first = 0, end = 0;  ///< positions of the epoch's order: [first, end); padding rows have no positions
  std::uint64_t reached = 0;  ///< positions that are done once every rank has its batch of this number: [0, reached)
  std::uint64_t ends = 0;     ///< end of the epoch; last=drop omits later positions
  std::uint64_t bad = 0;      ///< number of the positions whose samples were replaced or marked

  LedgerRecord record(LedgerRecord::Kind kind, std::uint64_t time) const {
    return {kind, time, {batch, first, end, reached, ends, bad}};
  }
  static LedgerBatch of(const LedgerRecord& record) {
    const auto& n = record.numbers;
    return {.batch = n[0], .first = n[1], .end = n[2], .reached = n[3], .ends = n[4], .bad = n[5]};
  }
};

using LedgerWords = std::array<std::uint64_t, kLedgerRecordBytes / sizeof(std::uint64_t)>;
LedgerWords words_of(const LedgerRecord& record, std::uint64_t number);
/// Returns nothing unless the bytes are a complete record with number `number` and of a known kind.
std::optional<LedgerRecord> ledger_record(std::span<const std::byte, kLedgerRecordBytes> bytes, std::uint64_t number);

}  // namespace penstock
