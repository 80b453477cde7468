// Starts the disk's writing of a file while the file still grows.
#pragma once

#include <cstdint>

namespace penstock {

/// So that the fsync at the file's end has little to wait for. Advice: what the system answers changes nothing.
class Writeback {
 public:
  /// The first `written` bytes have been given to the system; what was begun before is not begun again.
  void advance(int fd, std::uint64_t written);

 private:
  std::uint64_t begun_ = 0;
};

}  // namespace penstock
