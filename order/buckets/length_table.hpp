// A length for each sample, for batches by length.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include <formats/lists/number_table.hpp>
#include <formats/lists/shared_numbers.hpp>

namespace penstock {

/// Lengths are numbers of 0 or more. A sample may have none. Uses 4 bytes per sample if all lengths are whole and below
/// 2^32 - 1, else 8. From 16 MiB on, the table is in a file that processes with the same lengths share
/// (shared_numbers()). Constant after finish(), and must not be read before.
class LengthTable {
 public:
  explicit LengthTable(std::uint64_t samples);  ///< no sample has a length yet
  /// Selects some samples of another table, one after the other.
  LengthTable(const LengthTable& of, std::span<const std::uint64_t> samples);

  /// `length` must be finite and 0 or more. Several threads may set those of different samples.
  void set(std::uint64_t sample, double length);
  void finish();  ///< uses 4 bytes per length if possible, and shares the table

  bool finished() const { return numbers_ != nullptr; }
  std::uint64_t size() const { return set_ != nullptr ? set_->size() : numbers_->size(); }
  bool has(std::uint64_t sample) const { return (*numbers_)[sample] != 0; }
  double operator[](std::uint64_t sample) const { return length_of((*numbers_)[sample]); }
  /// Numbers that have the same order as the lengths. If the table is not wide(), they are below 2^32.
  std::uint64_t rank(std::uint64_t sample) const { return (*numbers_)[sample]; }
  double length_of(std::uint64_t rank) const;
  bool wide() const { return numbers_->wide(); }
  std::uint64_t fingerprint() const { return fingerprint_; }  ///< of all lengths in their order

 private:
  template <typename Rank>
  void share(std::uint64_t count, std::uint64_t largest, const Rank& rank);

  std::unique_ptr<NumberTable> set_;              // until finish(): the bits of a float64 plus one
  std::shared_ptr<const SharedNumbers> numbers_;  // 0: none; else the whole number plus one, or those bits plus one
  bool whole_ = false;
  std::uint64_t fingerprint_ = 0;
};

}  // namespace penstock
