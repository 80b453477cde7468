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

/// A single read asks for this much at most: larger ones are split by the block layer anyway, and a stop is noticed
/// between two.
inline constexpr std::uint64_t kSplitBytes = 1 << 20;
/// EAGAIN in a row before an engine gives up on asking again.
inline constexpr unsigned kAttempts = 16;

/// Stands between the system's answer to one read (bytes, or -errno) and the engine, which believes what it returns.
/// For tests: an answer made worse (fewer bytes, -EINTR, -EAGAIN, -EIO) must change nothing but the retries.
using AnswerFilter = std::function<std::int64_t(std::int64_t answer)>;

/// The destinations of a read, in file order; gaps between requests go to a bin that nobody looks at.
class ReadVector {
 public:
  /// Replaces the parts by those of `requests` (sorted, disjoint). `bin` is as long as the largest gap.
  void assign(std::span<const ReadRequest> requests, std::span<std::byte> bin);
  /// One destination for [0, length).
  void assign(std::byte* destination, std::uint64_t length);

  bool full() const { return first_ == parts_.size(); }
  /// The parts to read next: all that are left, or the first kSplitBytes of a single long one. Valid until the next
  /// call on this object.
  std::span<const iovec> next();
  void advance(std::uint64_t bytes);  ///< the next `bytes` bytes have been read

 private:
  std::vector<iovec> parts_;
  std::size_t first_ = 0;
  iovec piece_{};
};

std::uint64_t total_bytes(std::span<const iovec> parts);

/// How a run of reads ended.
struct ReadEnd {
  std::uint64_t bytes = 0;  ///< read
  int errnum = 0;           ///< 0, also at the end of the file
};

/// Reads at `offset` until `target` is full, the file ends, `stop` returns true or an error persists. A short read and
/// EINTR go on; EAGAIN is asked again kAttempts times.
ReadEnd read_fully(int fd, std::uint64_t offset, ReadVector& target, ReadCounters& counters, const AnswerFilter& filter,
                   const std::function<bool()>& stop = {});

}  // namespace penstock
