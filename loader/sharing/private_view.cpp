#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <loader/sharing/private_view.hpp>
#include <penstock/error.hpp>

namespace penstock::sharing {
namespace {

constexpr std::uint64_t kPage = 4096;
// Bits of an entry of /proc/PID/pagemap: the page is in memory or in swap, and belongs to the file. Source: the
// kernel's Documentation/admin-guide/mm/pagemap.rst.
constexpr std::uint64_t kHasPage = std::uint64_t{3} << 62U, kOfFile = std::uint64_t{1} << 61U;

// Whether a page was written to, which made it a page of this process. True if the system does not say.
bool any_changed(const std::byte* begin, std::uint64_t pages) {
  static const int map = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  static const pid_t process = ::getpid();
  if (map < 0 || process != ::getpid()) return true;
  std::array<std::uint64_t, 512> entries{};
  auto at = reinterpret_cast<std::uintptr_t>(begin) / kPage;
  while (pages != 0) {
    const std::uint64_t some = std::min<std::uint64_t>(pages, entries.size());
    const auto bytes = static_cast<ssize_t>(some * sizeof(std::uint64_t));
    if (::pread(map, entries.data(), static_cast<std::size_t>(bytes), static_cast<off_t>(at * sizeof(std::uint64_t))) !=
        bytes)
      return true;
    for (std::uint64_t i = 0; i < some; ++i)
      if ((entries[i] & kHasPage) != 0 && (entries[i] & kOfFile) == 0) return true;
    at += some;
    pages -= some;
  }
  return false;
}

}  // namespace

PrivateView::PrivateView(const UnforkedDescriptor& file, std::uint64_t bytes) : bytes_(bytes) {
  struct stat status {};
  const int seals = ::fcntl(file.get(), F_GET_SEALS);
  if (bytes == 0 || seals < 0 || (seals & F_SEAL_SHRINK) == 0 || ::fstat(file.get(), &status) != 0 ||
      static_cast<std::uint64_t>(status.st_size) < bytes)
    throw Error::corrupt("the memory of another process is not what its message says");
  void* const data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file.get(), 0);
  if (data == MAP_FAILED) {
    throw Error::resource("cannot map " + std::to_string(bytes) +
                          " bytes of another process: " + std::generic_category().message(errno));
  }
  data_ = static_cast<std::byte*>(data);
}

PrivateView::~PrivateView() {
  ::munmap(data_, bytes_);
}

void PrivateView::forget_changes(std::uint64_t offset, std::uint64_t bytes) const {
  if (bytes == 0) return;
  const std::uint64_t begin = offset / kPage * kPage,
                      end = std::min((offset + bytes + kPage - 1) / kPage * kPage, bytes_);
  if (any_changed(data_ + begin, (end - begin + kPage - 1) / kPage))
    ::madvise(data_ + begin, end - begin, MADV_DONTNEED);
}

}  // namespace penstock::sharing
