#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <formats/io/folder_entries.hpp>
#include <formats/io/hidden_folder.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

Error cannot_make_folder(int errnum, const fs::path& around) {
  return Error::io(errnum, "cannot make a temporary folder in " + around.string());
}

// Returns false if another process has locked the folder or removed it. If the file system has no locks, `held` stays
// empty: then only the owner removes the folder.
bool lock_folder(const fs::path& path, Descriptor& held) {
  Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (folder.get() < 0) return false;
  if (::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) return errno != EWOULDBLOCK;
  struct stat locked {
  }, named{};
  if (::fstat(folder.get(), &locked) != 0 || ::stat(path.c_str(), &named) != 0 || locked.st_ino != named.st_ino)
    return false;
  held = std::move(folder);
  return true;
}

// Removes the folders of killed processes: no process holds a lock on them any more.
void remove_left_behind(const fs::path& around, std::string_view prefix) {
  std::vector<fs::path> found;
  visit_names(around, [&](const char* name) {
    if (std::string_view(name).starts_with(prefix)) found.push_back(around / name);
    return true;
  });
  for (const fs::path& path : found) {
    try {
      Descriptor held;
      if (lock_folder(path, held) && held.get() >= 0) remove_tree(path);
    } catch (const Error&) {  // belongs to another user, or was removed meanwhile
    }
  }
}

}  // namespace

HiddenFolder::HiddenFolder(const fs::path& around, std::string_view prefix) {
  std::error_code failure;
  fs::create_directories(around, failure);
  if (failure) throw cannot_make_folder(failure.value(), around);
  remove_left_behind(around, prefix);
  do {
    std::string name = (around / prefix).string() + "XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw cannot_make_folder(errno, around);
    path_ = name;
  } while (!lock_folder(path_, held_));  // another process removed it as abandoned before it was locked
}

HiddenFolder::~HiddenFolder() {
  try {
    remove_tree(path_);
  } catch (...) {  // the next process with this prefix removes it
  }
}

}  // namespace penstock
