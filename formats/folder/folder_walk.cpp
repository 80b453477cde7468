#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <formats/folder/folder_walk.hpp>
#include <formats/io/own_files.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

constexpr std::size_t kDeepest = 256;  // each level keeps a descriptor open

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

class Walk {
 public:
  Walk(const std::filesystem::path& root, const FolderVisitor& visitor) : root_(root), visitor_(visitor) {}

  // Visits the folder `name` in the folder `parent`; path_ is its path below the root.
  void visit(int parent, const char* name) {
    const int fd = ::openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) throw Error::io(errno, "cannot read the folder " + here());
    const std::unique_ptr<DIR, CloseFolder> folder(::fdopendir(fd));
    if (folder == nullptr) throw Error::io(errno, "cannot read the folder " + here());
    enter(fd);
    while (true) {
      errno = 0;
      const dirent* entry = ::readdir(folder.get());
      if (entry == nullptr && errno != 0) throw Error::io(errno, "cannot read the folder " + here());
      if (entry == nullptr) break;
      if (visitor_.done && visitor_.done()) break;
      if (entry->d_name[0] != '.' && (visitor_.own_files || !is_own_file(entry->d_name)))
        visit_entry(fd, entry->d_name);
    }
    above_.pop_back();
  }

 private:
  std::string here() const { return (root_ / path_).string(); }

  void enter(int fd) {
    struct stat status {};
    if (::fstat(fd, &status) != 0) throw Error::io(errno, "cannot stat " + here());
    const std::pair identity(status.st_dev, status.st_ino);
    if (std::find(above_.begin(), above_.end(), identity) != above_.end()) {
      throw Error::unsupported("a symbolic link leads back into a folder above it: " + here());
    }
    if (above_.size() == kDeepest) throw Error::unsupported("folders nested too deeply: " + here());
    above_.push_back(identity);
  }

  void visit_entry(int folder, const char* name) {
    const std::size_t length = path_.size();
    if (!path_.empty()) path_ += '/';
    path_ += name;
    struct stat status {};
    if (::fstatat(folder, name, &status, 0) != 0) throw Error::io(errno, "cannot stat " + here());
    if (S_ISDIR(status.st_mode) && !visitor_.own_files && is_own_folder(folder, name)) {
      if (visitor_.own_folder) visitor_.own_folder(path_);
    } else if (S_ISDIR(status.st_mode)) {
      if (visitor_.folder) visitor_.folder(path_);
      visit(folder, name);
    } else if (S_ISREG(status.st_mode)) {
      if (visitor_.identity) visitor_.identity(path_, identity_of(status));
      if (visitor_.file) visitor_.file(path_, static_cast<std::uint64_t>(status.st_size));
    }
    path_.resize(length);
  }

  const std::filesystem::path& root_;
  const FolderVisitor& visitor_;
  std::string path_;
  std::vector<std::pair<dev_t, ino_t>> above_;  // from the root to the current folder
};

}  // namespace

void walk_folder(const std::filesystem::path& root, const FolderVisitor& visitor) {
  Walk(root, visitor).visit(AT_FDCWD, root.c_str());
}

}  // namespace penstock
