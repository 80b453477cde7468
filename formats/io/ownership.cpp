#include <cerrno>
#include <string>

#include <sys/stat.h>
#include <unistd.h>

#include <penstock/base/error.hpp>
#include <penstock/formats/io/ownership.hpp>

namespace penstock {

bool is_believable(const struct stat& index, const struct stat& data) {
  const bool owned = index.st_uid == ::geteuid() || index.st_uid == 0 || index.st_uid == data.st_uid;
  const bool by_group = (index.st_mode & S_IWGRP) != 0;
  const bool of_data = (data.st_mode & S_IWGRP) != 0 && data.st_gid == index.st_gid;
  return S_ISREG(index.st_mode) && owned && (index.st_mode & S_IWOTH) == 0 && (!by_group || of_data);
}

void require_own_folder(const std::filesystem::path& folder) {
  struct stat status {
  }, above{};
  if (::lstat(folder.c_str(), &status) != 0) {
    if (errno == ENOENT) return;
    throw Error::io(errno, "cannot stat " + folder.string());
  }
  const auto refuse = [&](const char* why) { throw Error::invalid_argument(folder.string() + " " + why); };
  if (S_ISLNK(status.st_mode)) refuse("is a link: remove it, data grow in a folder of their own");
  if (!S_ISDIR(status.st_mode)) refuse("is no folder");
  const std::filesystem::path around = folder.has_parent_path() ? folder.parent_path() : std::filesystem::path(".");
  if (::stat(around.c_str(), &above) != 0) throw Error::io(errno, "cannot stat " + around.string());
  const uid_t user = ::geteuid();
  if (user != 0 && status.st_uid != user && status.st_uid != above.st_uid) refuse("belongs to another user");
}

}  // namespace penstock
