// Finds the entry of a part. Each entry of a list has parts in proportion to its weight.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include <formats/lists/shared_numbers.hpp>

namespace penstock {

/// Entry i has the parts from begin(i) to begin(i + 1) - 1. Immutable. Uses 8 bytes per entry, and 1 to 2 more to find
/// entries. From some millions of entries on, the tables are in temporary files that processes with the same table
/// share.
///
/// Source: the method of guide tables, Chen and Asau 1974. An index by the leading bits of a part makes finding take a
/// few steps for similar weights, and O(log entries) for any.
class PartTable {
 public:
  /// `parts` returns the parts of an entry; their sum must be from 1 to 2^63 - 1.
  PartTable(std::uint64_t entries, const std::function<std::uint64_t(std::uint64_t entry)>& parts,
            bool finds_entries = true);

  std::uint64_t entries() const { return begins_->size() - 1; }
  std::uint64_t total() const { return begins_->longs()[entries()]; }
  std::uint64_t begin(std::uint64_t entry) const { return begins_->longs()[entry]; }  ///< entry <= entries()
  std::uint64_t entry_of(std::uint64_t part) const;           ///< part < total(); requires `finds_entries`
  std::uint64_t fingerprint() const { return fingerprint_; }  ///< of all parts

 private:
  std::shared_ptr<const SharedNumbers> begins_;
  unsigned shift_ = 0;  // the upper bits of a part, from this one on, are its place in the guide
  std::shared_ptr<const SharedNumbers> guide_;  // entry of the first part of each place
  std::uint64_t fingerprint_;
};

}  // namespace penstock
