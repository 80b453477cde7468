#include <cerrno>
#include <chrono>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <formats/io/file_lock.hpp>

namespace penstock {
namespace {

// Returns whether the path still names the locked file. The previous holder may have removed the file while this
// process waited.
bool still_named(int fd, const std::filesystem::path& path) {
  struct stat held {
  }, named{};
  return ::fstat(fd, &held) == 0 && ::stat(path.c_str(), &named) == 0 && held.st_ino == named.st_ino &&
         held.st_dev == named.st_dev;
}

// Returns no descriptor if the file cannot be created, or if its name belongs to something else.
Descriptor open_or_make(const std::filesystem::path& path, bool& made) {
  constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  for (int attempt = 0; attempt < 100; ++attempt) {  // others create and remove it meanwhile
    Descriptor file(::open(path.c_str(), kFlags | O_CREAT | O_EXCL, 0666));
    made = file.get() >= 0;
    if (!made && errno == EEXIST) file = Descriptor(::open(path.c_str(), kFlags));
    struct stat status {};
    if (file.get() >= 0 && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode)) return file;
    if (file.get() >= 0 || errno != ENOENT) return Descriptor();
  }
  return Descriptor();
}

}  // namespace

std::optional<FileLock> FileLock::wait_while(const std::filesystem::path& path, const std::function<bool()>& go_on) {
  while (true) {
    bool made = false;
    Descriptor file = open_or_make(path, made);
    if (file.get() < 0) return std::nullopt;
    if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) {
      if (still_named(file.get(), path)) return FileLock(path, std::move(file));
    } else if (errno != EWOULDBLOCK && errno != EINTR) {
      if (made) ::unlink(path.c_str());
      return std::nullopt;
    } else if (!go_on()) {
      return std::nullopt;
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));  // flock() has no timeout
    }
  }
}

FileLock::~FileLock() {
  if (file_.get() >= 0) ::unlink(path_.c_str());
}

}  // namespace penstock
