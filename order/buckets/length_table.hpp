// A length for each sample, by which batches are composed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include <formats/lists/number_table.hpp>
#include <formats/lists/shared_numbers.hpp>

namespace penstock {

/// Lengths are numbers of 0 or more. A sample may have none. 4 bytes for each sample where all lengths are whole and
/// below 2^32 - 1, else 8; from 16 MiB on in a file that processes share which have the same lengths
/// (shared_numbers()). Constant once it is finished, and not to be asked before.
class LengthTable {
 public:
  explicit LengthTable(std::uint64_t samples);  ///< none has a length yet
  /// Of some numbers of another one, one behind the other.
  LengthTable(const LengthTable& of, std::span<const std::uint64_t> samples);

  /// `length` is finite, and 0 or more. Several threads may set those of different samples.
  void set(std::uint64_t sample, double length);
  void finish();  ///< takes 4 bytes for each where that does, and shares them

  bool finished() const { return numbers_ != nullptr; }
  std::uint64_t size() const { return set_ != nullptr ? set_->size() : numbers_->size(); }
  bool has(std::uint64_t sample) const { return (*numbers_)[sample] != 0; }
  double operator[](std::uint64_t sample) const { return length_of((*numbers_)[sample]); }
  /// Numbers that rise with the lengths. Those that are not wide() are below 2^32.
  std::uint64_t rank(std::uint64_t sample) const { return (*numbers_)[sample]; }
  double length_of(std::uint64_t rank) const;
  bool wide() const { return numbers_->wide(); }
  std::uint64_t fingerprint() const { return fingerprint_; }  ///< of all lengths in their order

 private:
  template <typename Rank>
  void share(std::uint64_t count, std::uint64_t largest, const Rank& rank);

  std::unique_ptr<NumberTable> set_;              // until it is finished: one more than the bits of a float64
  std::shared_ptr<const SharedNumbers> numbers_;  // 0: none; else one more than the whole number, or than those bits
  bool whole_ = false;
  std::uint64_t fingerprint_ = 0;
};

}  // namespace penstock
