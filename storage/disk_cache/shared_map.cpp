#include <array>
#include <cerrno>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <base/error_number.hpp>
#include <penstock/error.hpp>
#include <storage/disk_cache/shared_map.hpp>

namespace penstock {

SharedMap::SharedMap(int fd, std::uint64_t bytes, bool writable) {
  void* mapped = ::mmap(nullptr, bytes, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED)
    throw Error::resource("cannot map " + std::to_string(bytes) + " bytes of the disk cache (" +
                          error_number_name(errno) + ")");
  data_ = static_cast<std::byte*>(mapped);
  bytes_ = bytes;
}

SharedMap::~SharedMap() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

int allocate_file(int fd, std::uint64_t bytes) noexcept {
  rlimit longest{};
  // A write beyond the limit would raise SIGXFSZ.
  if (::getrlimit(RLIMIT_FSIZE, &longest) == 0 && longest.rlim_cur < bytes) return EFBIG;
  int failed = 0;
  do {
    failed = ::fallocate(fd, 0, 0, static_cast<off_t>(bytes)) == 0 ? 0 : errno;
  } while (failed == EINTR);
  if (failed != EOPNOTSUPP) return failed;
  static constexpr std::array<std::byte, 4096> kZeros{};
  for (std::uint64_t done = 0; done < bytes;) {
    const ssize_t wrote = ::pwrite(fd, kZeros.data(), bytes - done < kZeros.size() ? bytes - done : kZeros.size(),
                                   static_cast<off_t>(done));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return wrote < 0 ? errno : ENOSPC;
    done += static_cast<std::uint64_t>(wrote);
  }
  return 0;
}

int punch_hole(int fd, std::uint64_t offset, std::uint64_t bytes) noexcept {
  while (::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                     static_cast<off_t>(bytes)) != 0)
    if (errno != EINTR) return errno;
  return 0;
}

}  // namespace penstock
