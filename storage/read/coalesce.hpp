// Merges requests for nearby extents of a file into one read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <storage/read/read_engine.hpp>

namespace penstock {

/// One read of [offset, offset + length) of a file. The read serves requests [first, first + count) of the sorted list.
struct MergedRead {
  std::uint32_t file;
  std::uint64_t offset, length;
  std::size_t first, count;
  friend bool operator==(const MergedRead&, const MergedRead&) = default;
};

/// Maximum number of requests per read. The kernel accepts 1,024 parts, and a gap between two requests needs its own
/// part.
inline constexpr std::size_t kMergedRequests = 256;

/// Sorts `requests` by file and offset, and replaces `reads` with the reads that serve them, in that order.
/// Requests at most `gap` bytes apart share a read while that read stays within `bytes`. Overlapping requests do not
/// share a read, so each byte of a read has at most one destination. A request longer than `bytes` gets a separate
/// read. Every request must have length > 0 and end within 64 bits.
void coalesce(std::vector<ReadRequest>& requests, std::uint64_t gap, std::uint64_t bytes,
              std::vector<MergedRead>& reads);

}  // namespace penstock
