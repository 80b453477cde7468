#include <cerrno>
#include <chrono>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <penstock/formats/file_lock.hpp>

namespace penstock {
namespace {

// The holder before us removed the file while we waited on it: what we have locked has no name any more.
bool still_named(int fd, const std::filesystem::path& path) {
  struct stat held {
  }, named{};
  return ::fstat(fd, &held) == 0 && ::stat(path.c_str(), &named) == 0 && held.st_ino == named.st_ino &&
         held.st_dev == named.st_dev;
}

}  // namespace

std::optional<FileLock> FileLock::wait(const std::filesystem::path& path) {
  while (true) {
    Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    if (file.get() < 0) return std::nullopt;
    int result;
    do {
      result = ::flock(file.get(), LOCK_EX);
    } while (result != 0 && errno == EINTR);
    if (result != 0) {
      ::unlink(path.c_str());
      return std::nullopt;
    }
    if (still_named(file.get(), path)) return FileLock(path, std::move(file));
  }
}

std::optional<FileLock> FileLock::wait_while(const std::filesystem::path& path, const std::function<bool()>& go_on) {
  while (true) {
    Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    if (file.get() < 0) return std::nullopt;
    if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) {
      if (still_named(file.get(), path)) return FileLock(path, std::move(file));
    } else if (errno != EWOULDBLOCK && errno != EINTR) {
      ::unlink(path.c_str());
      return std::nullopt;
    } else if (!go_on()) {
      return std::nullopt;
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));  // flock() itself knows no end of waiting
    }
  }
}

FileLock::~FileLock() {
  if (file_.get() >= 0) ::unlink(path_.c_str());
}

}  // namespace penstock
