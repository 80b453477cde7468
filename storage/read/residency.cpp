#include <optional>
#include <string>

#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <storage/read/residency.hpp>

namespace penstock {
namespace {

unsigned long file_system_of(int fd) {
  struct statfs status {};
  return fstatfs(fd, &status) == 0 ? static_cast<unsigned long>(status.f_type) : 0;
}

// mincore reports every page as present to a process that neither owns the file nor may write to it. Source:
// mincore(2).
bool mincore_sees(int fd) {
  struct stat status {};
  if (fstat(fd, &status) != 0) return false;
  if (geteuid() == 0 || geteuid() == status.st_uid) return true;
  return access(("/proc/self/fd/" + std::to_string(fd)).c_str(), W_OK) == 0;
}

// cachestat and RWF_NOWAIT do not see the pages of a file in an overlay, because they belong to the file below it. A
// mapping maps that file.
bool page_mapped(int fd, std::uint64_t offset) {
  if (!mincore_sees(fd)) return false;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const map = mmap(nullptr, page, PROT_READ, MAP_SHARED, fd, static_cast<off_t>(offset / page * page));
  if (map == MAP_FAILED) return false;
  unsigned char state = 0;
  const bool present = mincore(map, page, &state) == 0 && (state & 1) != 0;
  munmap(map, page);
  return present;
}

// cachestat(2), since Linux 6.5, checks the page cache without reading. The C library has no wrapper yet. The call
// number is 451 on every architecture except alpha.
std::optional<bool> page_cached(int fd, std::uint64_t offset) {
#ifndef __alpha__
  struct {
    std::uint64_t offset, length;
  } range{offset, 1};
  struct {
    std::uint64_t cached, dirty, writeback, evicted, recently_evicted;
  } pages{};
  constexpr long kCachestat = 451;
  if (syscall(kCachestat, fd, &range, &pages, 0u) == 0) return pages.cached != 0;
#endif
  static_cast<void>(fd);
  static_cast<void>(offset);
  return std::nullopt;
}

bool in_memory(const OpenFile& file, std::uint64_t offset) {
  const unsigned long type = file_system_of(file.fd);
  if (type == TMPFS_MAGIC || type == RAMFS_MAGIC) return true;
  if (type == OVERLAYFS_SUPER_MAGIC) return page_mapped(file.fd, offset);
  if (const auto cached = page_cached(file.fd, offset)) return *cached;
  char byte = 0;
  const iovec part{&byte, 1};
  return preadv2(file.fd, &part, 1, static_cast<off_t>(offset), RWF_NOWAIT) == 1;
}

}  // namespace

Residency probe_residency(FileTable& files, std::span<const Extent> extents) {
  Residency residency;
  for (const Extent& extent : extents) {
    ++residency.probed;
    try {
      residency.in_memory += in_memory(*files.open(extent.file), extent.offset + extent.length / 2);
    } catch (const Error&) {
      // the engine reports the error when it reads this file
    }
  }
  return residency;
}

std::string to_string(const Residency& residency) {
  return std::to_string(residency.in_memory) + " of " + std::to_string(residency.probed) + " probed extents in memory";
}

}  // namespace penstock
