// Assigns samples to shards before any sample is read, so that several processes can pack one dataset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <formats/format.hpp>
#include <pack/packed_fields.hpp>
#include <penstock/dataset.hpp>

namespace penstock {

/// Splits the samples, in key order, into shards of about `shard_size` bytes. The plan uses only lengths from the
/// source's index. All processes therefore compute the same shards without communication, for any number of processes.
class ShardPlan {
 public:
  /// `order` contains the numbers of the source's samples, sorted by key (key_order.hpp).
  ShardPlan(const Dataset& source, const PackedFields& fields, std::vector<std::uint64_t> order, const Format& format,
            std::uint64_t shard_size, std::uint64_t align);

  std::size_t shards() const { return begins_.size() - 1; }
  const std::vector<std::uint64_t>& order() const { return order_; }
  /// Position in order() of a shard's first sample; begin(shards()) is order().size().
  std::uint64_t begin(std::size_t shard) const { return begins_[shard]; }
  /// The shards [first, second) of a rank. Ranks get whole shards, in numbers that differ by at most one.
  std::pair<std::size_t, std::size_t> share(std::uint32_t rank, std::uint32_t world) const;
  /// Hash over the keys, lengths and known checksums of all values. Sources with equal stamps give equal plans.
  std::uint64_t stamp() const { return stamp_; }

 private:
  std::vector<std::uint64_t> order_;
  std::vector<std::uint64_t> begins_;
  std::uint64_t stamp_ = 0;
};

}  // namespace penstock
