#include <fcntl.h>

#include <formats/io/writeback.hpp>

namespace penstock {

void Writeback::advance(int fd, std::uint64_t written) {
  constexpr std::uint64_t kStep = std::uint64_t{8} << 20;  // bytes that one call hands to the disk
  if (written < begun_ + kStep) return;
  ::sync_file_range(fd, static_cast<off64_t>(begun_), static_cast<off64_t>(written - begun_), SYNC_FILE_RANGE_WRITE);
  begun_ = written;
}

}  // namespace penstock
