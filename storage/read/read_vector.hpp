// Reads one range of a file into several destinations, and continues until they are full.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <sys/uio.h>

#include <storage/read/coalesce.hpp>
#include <storage/read/read_counters.hpp>
#include <storage/read/read_engine.hpp>

namespace penstock {

/// Maximum size of a single read. The block layer splits larger ones anyway, and a stop is checked between two reads.
inline constexpr std::uint64_t kSplitBytes = 1 << 20;
/// Consecutive EAGAIN answers before an engine stops retrying.
inline constexpr unsigned kAttempts = 16;

/// Filters the result of one read (bytes, or -errno) before the engine sees it. Tests use it to inject worse results
/// (fewer bytes, -EINTR, -EAGAIN, -EIO), which may only change the number of retries.
using AnswerFilter = std::function<std::int64_t(std::int64_t answer)>;

/// The destinations of a read, in file order. The gaps between requests are read into a bin whose content is ignored.
class ReadVector {
 public:
  /// Replaces the parts by those of `requests` (sorted, disjoint). `bin` is at least as long as the largest gap.
  void assign(std::span<const ReadRequest> requests, std::span<std::byte> bin);
  /// Uses one destination for [0, length).
  void assign(std::byte* destination, std::uint64_t length);

  bool full() const { return first_ == parts_.size(); }
  /// Returns the parts to read next: all remaining parts, or the first kSplitBytes of a single long one. Valid until
  /// the next call on this object.
  std::span<const iovec> next();
  void advance(std::uint64_t bytes);  ///< call after reading the next `bytes` bytes

 private:
  std::vector<iovec> parts_;
  std::size_t first_ = 0;
  iovec piece_{};
};

std::uint64_t total_bytes(std::span<const iovec> parts);

/// Result of a sequence of reads.
struct ReadEnd {
  std::uint64_t bytes = 0;  ///< bytes read
  int errnum = 0;           ///< 0 also at the end of the file
};

/// Reads from `offset` until `target` is full, the file ends, `stop` returns true or an error persists. Continues after
/// a short read or EINTR. Retries EAGAIN up to kAttempts times.
ReadEnd read_fully(int fd, std::uint64_t offset, ReadVector& target, ReadCounters& counters, const AnswerFilter& filter,
                   const std::function<bool()>& stop = {});

}  // namespace penstock
