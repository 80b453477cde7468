#include <array>
#include <cerrno>
#include <cstdio>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include <penstock/formats/atomic_file.hpp>
#include <penstock/formats/descriptor.hpp>
#include <penstock/formats/error.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

std::string host() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "host";
  return name.data();
}

// Removed at the end of the scope unless it has been renamed away. The host stands in the name because processes of two
// machines, or of two containers, that write into a shared folder may well have the same number.
class TemporaryFile {
 public:
  explicit TemporaryFile(const fs::path& target)
      : path_(folder_of(target) /
              ("." + target.filename().string() + "." + host() + "-" + std::to_string(::getpid()) + ".tmp")),
        file_(Descriptor::open(path_, O_WRONLY | O_CREAT | O_TRUNC)) {}
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }

  void fill(std::initializer_list<std::span<const std::byte>> parts) {
    for (const auto part : parts) write_all(file_.get(), part, path_);
    sync(file_.get(), path_);
  }

  void rename_to(const fs::path& target) {
    if (::rename(path_.c_str(), target.c_str()) != 0) throw Error::io(errno, "cannot rename to " + target.string());
    path_.clear();
  }

 private:
  fs::path path_;
  Descriptor file_;
};

}  // namespace

void write_atomically(const fs::path& path, std::span<const std::byte> bytes) {
  write_atomically(path, {bytes});
}

void write_synced(const fs::path& path, std::span<const std::byte> bytes) {
  TemporaryFile file(path);
  file.fill({bytes});
  file.rename_to(path);
}

void write_atomically(const fs::path& path, std::initializer_list<std::span<const std::byte>> parts) {
  TemporaryFile file(path);
  file.fill(parts);
  file.rename_to(path);
  sync_folder(folder_of(path));
}

void sync_folder(const fs::path& folder) {
  const Descriptor descriptor = Descriptor::open(folder, O_RDONLY | O_DIRECTORY);
  sync(descriptor.get(), folder);
}

void rename_durably(const fs::path& from, const fs::path& to) {
  // RENAME_NOREPLACE would close the gap between check and rename, but not every network file system has it; a folder
  // that is not empty is never replaced anyway.
  if (fs::exists(fs::symlink_status(to))) throw Error::io(EEXIST, "cannot rename to " + to.string());
  if (::rename(from.c_str(), to.c_str()) != 0) throw Error::io(errno, "cannot rename to " + to.string());
  sync_folder(folder_of(to));
}

fs::path replace_folder(const fs::path& from, const fs::path& to) {
  fs::path old = from;
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) != 0) {
    old = to.string() + ".replaced";
    fs::remove_all(old);
    if (::rename(to.c_str(), old.c_str()) != 0) throw Error::io(errno, "cannot rename " + to.string());
    if (::rename(from.c_str(), to.c_str()) != 0) throw Error::io(errno, "cannot rename to " + to.string());
  }
  sync_folder(folder_of(to));
  return old;
}

}  // namespace penstock
