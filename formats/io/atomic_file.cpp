#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <string>

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <formats/io/atomic_file.hpp>
#include <formats/io/descriptor.hpp>
#include <formats/io/hash.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr int kAttempts = 100;  // to find an unused name

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

std::string unpredictable() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof(number), 0) != sizeof(number)) throw Error::io(errno, "cannot get random bytes");
  return hexadecimal(number);
}

// A temporary file beside its target, created below an open folder descriptor and with an unpredictable name. Therefore
// no other user can prepare a file of that name. Removed at the end of the scope unless it was renamed.
class TemporaryFile {
 public:
  TemporaryFile(const fs::path& target, unsigned mode)
      : target_(target), folder_(Descriptor::open(folder_of(target), O_RDONLY | O_DIRECTORY)) {
    constexpr std::size_t kLongest = 200;  // of the target's name: names may have 255 bytes
    const std::string begin = "." + target.filename().string().substr(0, kLongest) + ".";
    for (int attempt = 0; file_.get() < 0; ++attempt) {
      const std::string name = begin + unpredictable() + ".tmp";
      file_ =
          Descriptor(::openat(folder_.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
      if (file_.get() >= 0) name_ = name;
      if (file_.get() < 0 && (errno != EEXIST || attempt == kAttempts))
        throw Error::io(errno, "cannot make a file for " + target.string());
    }
  }
  TemporaryFile(TemporaryFile&&) = delete;
  ~TemporaryFile() {
    if (!name_.empty()) ::unlinkat(folder_.get(), name_.c_str(), 0);
  }

  void fill(std::initializer_list<std::span<const std::byte>> parts) {
    for (const auto part : parts) write_all(file_.get(), part, target_);
    sync(file_.get(), target_);
  }

  void appear() {
    if (::renameat(folder_.get(), name_.c_str(), folder_.get(), target_.filename().c_str()) != 0)
      throw Error::io(errno, "cannot rename to " + target_.string());
    name_.clear();
  }

  void sync_name() const { sync(folder_.get(), folder_of(target_)); }

 private:
  const fs::path target_;
  Descriptor folder_, file_;
  std::string name_;
};

// A device or a pipe, which a rename would replace by a regular file.
bool is_special(const fs::path& path) {
  std::error_code missing;
  const fs::file_status status = fs::status(path, missing);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

}  // namespace

void write_atomically(const fs::path& path, std::span<const std::byte> bytes) {
  write_atomically(path, {bytes});
}

void write_synced(const fs::path& path, std::span<const std::byte> bytes) {
  TemporaryFile file(path, 0666);
  file.fill({bytes});
  file.appear();
}

void write_atomically(const fs::path& path, std::initializer_list<std::span<const std::byte>> parts, unsigned mode) {
  if (is_special(path)) {
    const Descriptor file = Descriptor::open(path, O_WRONLY);
    for (const auto part : parts) write_all(file.get(), part, path);
    return;
  }
  TemporaryFile file(path, mode);
  file.fill(parts);
  file.appear();
  file.sync_name();
}

void sync_folder(const fs::path& folder) {
  const Descriptor descriptor = Descriptor::open(folder, O_RDONLY | O_DIRECTORY);
  sync(descriptor.get(), folder);
}

void rename_durably(const fs::path& from, const fs::path& to) {
  // RENAME_NOREPLACE would close the gap between check and rename, but not every network file system supports it. In
  // any case, rename() never replaces a folder that is not empty.
  if (fs::exists(fs::symlink_status(to))) throw Error::io(EEXIST, "cannot rename to " + to.string());
  if (::rename(from.c_str(), to.c_str()) != 0) throw Error::io(errno, "cannot rename to " + to.string());
  sync_folder(folder_of(to));
}

fs::path replace_folder(const fs::path& from, const fs::path& to) {
  fs::path old = from;
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) != 0) {
    old = to.string() + ".replaced-" + unpredictable();
    if (fs::exists(fs::symlink_status(old))) throw Error::io(EEXIST, "cannot rename to " + old.string());
    if (::rename(to.c_str(), old.c_str()) != 0) throw Error::io(errno, "cannot rename " + to.string());
    if (::rename(from.c_str(), to.c_str()) != 0) {
      const int failure = errno;
      ::rename(old.c_str(), to.c_str());
      throw Error::io(failure, "cannot rename to " + to.string());
    }
  }
  sync_folder(folder_of(to));
  return old;
}

}  // namespace penstock
