// Finds the entry that a part belongs to, of a list of entries that have parts in proportion to their weights.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include <formats/lists/shared_numbers.hpp>

namespace penstock {

/// Entry i has the parts from begin(i) to begin(i + 1) - 1. Immutable; 8 bytes an entry and 1 to 2 to find them by,
/// from some millions on in temporary files that processes share which have the same. An index of the table by the
/// leading bits of a part (the method of guide tables, Chen and Asau 1974) makes finding take a few steps for weights
/// that are alike, and O(log entries) for any.
class PartTable {
 public:
  /// `parts` of each entry; together from 1 to 2^63 - 1.
  PartTable(std::uint64_t entries, const std::function<std::uint64_t(std::uint64_t entry)>& parts,
            bool finds_entries = true);

  std::uint64_t entries() const { return begins_->size() - 1; }
  std::uint64_t total() const { return begins_->longs()[entries()]; }
  std::uint64_t begin(std::uint64_t entry) const { return begins_->longs()[entry]; }  ///< entry <= entries()
  std::uint64_t entry_of(std::uint64_t part) const;           ///< part < total(), where it `finds_entries`
  std::uint64_t fingerprint() const { return fingerprint_; }  ///< of all parts

 private:
  std::shared_ptr<const SharedNumbers> begins_;
  unsigned shift_ = 0;                          // of a part, that makes its place in the guide
  std::shared_ptr<const SharedNumbers> guide_;  // the entry of the first part of each place
  std::uint64_t fingerprint_;
};

}  // namespace penstock
