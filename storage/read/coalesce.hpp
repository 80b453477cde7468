// Merges requests that lie close together in a file into one read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <storage/read/read_engine.hpp>

namespace penstock {

/// One read of [offset, offset + length) of a file; it serves requests [first, first + count) of the sorted list.
struct MergedRead {
  std::uint32_t file;
  std::uint64_t offset, length;
  std::size_t first, count;
  friend bool operator==(const MergedRead&, const MergedRead&) = default;
};

/// Requests that one read serves at most: the kernel takes 1,024 parts, and between two requests there may be a gap.
inline constexpr std::size_t kMergedRequests = 256;

/// Sorts `requests` by file and offset and replaces `reads` by the reads that serve them, in that order.
/// Requests at most `gap` bytes apart share a read as long as it stays within `bytes`; those that overlap do not share
/// one, so each byte of a read has one destination at most. A request longer than `bytes` is a read of its own.
/// Every request must have length > 0 and end within 64 bits.
void coalesce(std::vector<ReadRequest>& requests, std::uint64_t gap, std::uint64_t bytes,
              std::vector<MergedRead>& reads);

}  // namespace penstock
