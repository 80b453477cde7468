// Starts writing a file to disk while the file still grows.
#pragma once

#include <cstdint>

namespace penstock {

/// Shortens the final fsync of a file. The calls are advice: errors of the system are ignored.
class Writeback {
 public:
  /// Call when the first `written` bytes were passed to the system. Parts whose writing was already started are not
  /// started again.
  void advance(int fd, std::uint64_t written);

 private:
  std::uint64_t begun_ = 0;
};

}  // namespace penstock
