// Decides which values are compared with their checksums, and counts which were.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include <base/memory.hpp>
#include <penstock/codec.hpp>
#include <penstock/dataset.hpp>
#include <penstock/error.hpp>
#include <penstock/storage.hpp>
#include <transforms/program/program.hpp>

namespace penstock {

/// One for all readers of a loader. `first` keeps a bit for each value and for each range, in memory that is touched
/// only where samples are read. Any number of threads may use it; none waits for another.
class ValueChecks {
 public:
  /// Keeps a reference. Throws Error: resource.
  ValueChecks(const Dataset& dataset, const Program& program, Checksums when);

  bool on() const { return when_ != Checksums::off; }
  /// False where the value need not be looked at (again).
  bool wants(std::uint64_t sample, std::uint32_t field) const;
  bool wants_range(std::uint64_t sample, std::uint32_t field, std::uint64_t range) const;
  void done(std::uint64_t sample, std::uint32_t field);
  void range_done(std::uint64_t range) { set(ranges_, range); }

  /// What must be read so that `ranges` of a value of `length` bytes can be checked: whole ranges that have a sum
  /// around those that were not checked before. Empty where `ranges` themselves are to be read.
  void widen(std::uint64_t sample, std::uint32_t field, std::uint64_t length, std::span<const ByteRange> ranges,
             std::vector<ByteRange>& widened) const;

  void count_checked(std::uint64_t values, std::uint64_t bytes);
  void count_unchecked(std::uint64_t bytes);
  void count_mismatch() { counts().mismatches.fetch_add(1, std::memory_order_relaxed); }
  CheckStats stats() const;

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;
  // Counts only: relaxed, they order nothing. A few stripes, so that workers seldom meet in one.
  struct alignas(64) Counts {
    std::atomic<std::uint64_t> checked{0}, checked_bytes{0}, unchecked{0}, unchecked_bytes{0}, mismatches{0};
  };
  Counts& counts();
  std::uint64_t bit_of(std::uint64_t sample, std::uint32_t field) const;
  static bool is_set(const Memory& bits, std::uint64_t number);
  static void set(const Memory& bits, std::uint64_t number);

  const Dataset& dataset_;
  const Checksums when_;
  std::vector<std::uint32_t> column_of_;  // by field; kNone for those that no output reads
  Memory values_, ranges_;                // bits; none but for `first`
  std::array<Counts, 16> counts_;
};

/// Error: corrupt, of bytes [begin, ...) of a value that twice had another checksum.
Error checksum_error(const Dataset& dataset, std::uint64_t sample, std::uint32_t field, std::uint64_t begin,
                     std::uint32_t recorded, std::uint32_t found);

/// Reads bytes of a stored value again, past what this process and, where that can be had, the system keep of them; all
/// of it, or those from `begin` on where the value is one piece of a file. Throws as read_field().
std::vector<std::byte> read_again(const Dataset& dataset, std::uint64_t sample, std::uint32_t field,
                                  std::uint64_t begin, std::uint64_t length);

}  // namespace penstock
