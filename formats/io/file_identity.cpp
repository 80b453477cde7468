#include <algorithm>
#include <cerrno>
#include <ctime>

#include <fcntl.h>
#include <sys/stat.h>

#include <formats/io/descriptor.hpp>
#include <formats/io/file_identity.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000, kMillisecond = 1'000'000;
constexpr std::int64_t kFineStep = 20 * kMillisecond;  // two ticks of a 100 Hz kernel
constexpr std::int64_t kCoarseStep = 2 * kSecond;      // of FAT

std::int64_t nanoseconds(const timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * kSecond + time.tv_nsec;
}

}  // namespace

FileIdentity identity_of(const struct stat& status) {
  return {.device = status.st_dev,
          .inode = status.st_ino,
          .size = static_cast<std::uint64_t>(status.st_size),
          .modified = nanoseconds(status.st_mtim),
          .changed = nanoseconds(status.st_ctim)};
}

FileIdentity identity_of(int fd, const std::filesystem::path& path) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) throw Error::io(errno, "cannot stat " + path.string());
  return identity_of(status);
}

FileIdentity identity_of(const std::filesystem::path& path) {
  return identity_of(Descriptor::open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY).get(), path);
}

std::optional<FileIdentity> identity_by_name(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return identity_of(status);
}

std::int64_t until_settled(const FileIdentity& file, std::int64_t now) {
  // A modification time in the future was set by hand or by a wrong clock. The next write sets another one.
  const std::int64_t latest = std::max(file.changed, file.modified <= now ? file.modified : file.changed);
  const std::int64_t step = latest % kMillisecond != 0 ? kFineStep : kCoarseStep;
  return std::max<std::int64_t>(0, latest + step - now);
}

std::int64_t file_clock(const std::filesystem::path& touched) {
  timespec here{};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &here);
  struct stat status {};
  if (touched.empty() || ::utimensat(AT_FDCWD, touched.c_str(), nullptr, AT_SYMLINK_NOFOLLOW) != 0 ||
      ::lstat(touched.c_str(), &status) != 0) {
    return nanoseconds(here);
  }
  return std::min(nanoseconds(here), nanoseconds(status.st_ctim));
}

}  // namespace penstock
