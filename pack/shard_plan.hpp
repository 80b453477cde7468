// Decides which sample goes into which shard before any is read, so that several processes can pack one dataset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <formats/format.hpp>
#include <pack/packed_fields.hpp>
#include <penstock/dataset.hpp>

namespace penstock {

/// Cuts the samples, in order of their keys, into shards of about `shard_size` bytes by the lengths that the source's
/// index tells. So every process finds the same shards without a word to the others, and how many processes there are
/// does not change them.
class ShardPlan {
 public:
  /// `order` has the numbers of the source's samples, sorted by key (key_order.hpp).
  ShardPlan(const Dataset& source, const PackedFields& fields, std::vector<std::uint64_t> order, const Format& format,
            std::uint64_t shard_size, std::uint64_t align);

  std::size_t shards() const { return begins_.size() - 1; }
  const std::vector<std::uint64_t>& order() const { return order_; }
  /// Position in order() of a shard's first sample; begin(shards()) is order().size().
  std::uint64_t begin(std::size_t shard) const { return begins_[shard]; }
  /// The shards [first, second) that are the share of a rank: whole ones, as equal in number as can be.
  std::pair<std::size_t, std::size_t> share(std::uint32_t rank, std::uint32_t world) const;
  /// Of the keys, lengths and known checksums of all values: sources that look alike to the plan have the same.
  std::uint64_t stamp() const { return stamp_; }

 private:
  std::vector<std::uint64_t> order_;
  std::vector<std::uint64_t> begins_;
  std::uint64_t stamp_ = 0;
};

}  // namespace penstock
