#include <algorithm>
#include <array>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <loader/sharing/changed_pages.hpp>

namespace penstock::sharing {
namespace {

/// The argument of the ioctl PAGEMAP_SCAN, which Linux 6.7 and later have. Debian 12 has no header for it. Source: the
/// kernel's Documentation/admin-guide/mm/pagemap.rst and include/uapi/linux/fs.h.
struct PagesToFind {
  std::uint64_t size = sizeof(PagesToFind), flags = 0;
  std::uint64_t begin = 0, end = 0, walked_to = 0;
  std::uint64_t found = 0, room = 0, most_pages = 0;  // found: the address of `room` stretches
  std::uint64_t inverted = 0, all_of = 0, any_of = 0, reported = 0;
};
constexpr unsigned long kScan = _IOWR('f', 16, PagesToFind);
constexpr std::uint64_t kIsOfFile = 1U << 2U, kIsPresent = 1U << 3U, kIsSwapped = 1U << 4U;

// Bits of an entry of /proc/PID/pagemap, which every Linux has. Source: pagemap.rst.
constexpr std::uint64_t kHasPage = std::uint64_t{3} << 62U, kOfFile = std::uint64_t{1} << 61U;

}  // namespace

std::optional<bool> changed_by_scan(int map, std::uintptr_t begin, std::uint64_t pages) {
  std::array<std::uint64_t, 3> stretch{};  // begin, end, categories
  PagesToFind find;
  find.begin = begin;
  find.end = begin + pages * kPage;
  find.found = reinterpret_cast<std::uintptr_t>(stretch.data());
  find.room = find.most_pages = 1;
  find.inverted = find.all_of = kIsOfFile;
  find.any_of = kIsPresent | kIsSwapped;
  find.reported = kIsPresent;
  const int found = ::ioctl(map, kScan, &find);
  if (found < 0) return std::nullopt;
  return found != 0;
}

bool changed_by_entries(int map, std::uintptr_t begin, std::uint64_t pages) {
  std::array<std::uint64_t, 512> entries{};
  auto at = begin / kPage;
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

bool any_changed(const std::byte* data, std::uint64_t pages) {
  static const int map = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  static const pid_t process = ::getpid();
  if (map < 0 || process != ::getpid()) return true;
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  const std::optional<bool> changed = changed_by_scan(map, begin, pages);
  return changed ? *changed : changed_by_entries(map, begin, pages);
}

}  // namespace penstock::sharing
