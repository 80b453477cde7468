// Decides which values to compare with their checksums, and counts the comparisons.
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

/// Shared by all readers of a loader. For `first`, it keeps a bit per value and per range, in memory that is only
/// touched for samples that are read. Thread-safe and free of waits.
class ValueChecks {
 public:
  /// Keeps a reference to the dataset. Throws Error: resource.
  ValueChecks(const Dataset& dataset, const Program& program, Checksums when);

  bool on() const { return when_ != Checksums::off; }
  /// Returns false if the value needs no check (any more).
  bool wants(std::uint64_t sample, std::uint32_t field) const;
  bool wants_range(std::uint64_t sample, std::uint32_t field, std::uint64_t range) const;
  void done(std::uint64_t sample, std::uint32_t field);
  void range_done(std::uint64_t range) { set(ranges_, range); }

  /// Computes the ranges to read so that `ranges` of a value of `length` bytes can be checked. The result contains
  /// whole checksummed ranges around the parts that were not checked before. Empty: read `ranges` themselves.
  void widen(std::uint64_t sample, std::uint32_t field, std::uint64_t length, std::span<const ByteRange> ranges,
             std::vector<ByteRange>& widened) const;

  void count_checked(std::uint64_t values, std::uint64_t bytes);
  void count_unchecked(std::uint64_t bytes);
  void count_mismatch() { counts().mismatches.fetch_add(1, std::memory_order_relaxed); }
  CheckStats stats() const;

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;
  // Relaxed, because counts order nothing. The stripes reduce contention between workers.
  struct alignas(64) Counts {
    std::atomic<std::uint64_t> checked{0}, checked_bytes{0}, unchecked{0}, unchecked_bytes{0}, mismatches{0};
  };
  Counts& counts();
  std::uint64_t bit_of(std::uint64_t sample, std::uint32_t field) const;
  static bool is_set(const Memory& bits, std::uint64_t number);
  static void set(const Memory& bits, std::uint64_t number);

  const Dataset& dataset_;
  const Checksums when_;
  std::vector<std::uint32_t> column_of_;  // by field; kNone for fields that no output reads
  Memory values_, ranges_;                // bits; empty except for `first`
  std::array<Counts, 16> counts_;
};

/// Returns Error: corrupt, for bytes [begin, ...) of a value whose checksum differed twice.
Error checksum_error(const Dataset& dataset, std::uint64_t sample, std::uint32_t field, std::uint64_t begin,
                     std::uint32_t recorded, std::uint32_t found);

/// Reads bytes of a stored value again and bypasses the caches of this process and, if possible, of the system. Reads
/// the whole value, or only the part from `begin` on if the value is one piece of a file. Throws like read_field().
std::vector<std::byte> read_again(const Dataset& dataset, std::uint64_t sample, std::uint32_t field,
                                  std::uint64_t begin, std::uint64_t length);

}  // namespace penstock
