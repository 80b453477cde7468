#include <array>
#include <cerrno>
#include <cstdio>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <formats/io/ownership.hpp>
#include <penstock/error.hpp>

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
  if (S_ISLNK(status.st_mode)) refuse("is a symbolic link, but must be a folder: remove the link");
  if (!S_ISDIR(status.st_mode)) refuse("is not a folder");
  const std::filesystem::path around = folder.has_parent_path() ? folder.parent_path() : std::filesystem::path(".");
  if (::stat(around.c_str(), &above) != 0) throw Error::io(errno, "cannot stat " + around.string());
  const uid_t user = ::geteuid();
  if (user != 0 && status.st_uid != user && status.st_uid != above.st_uid) refuse("belongs to another user");
}

Descriptor open_private_folder(const std::filesystem::path& folder, uid_t user) {
  Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (opened.get() < 0) {
    const int number = errno;
    throw Error::io(number, "cannot open " + folder.string() + " as a folder, links not followed");
  }
  struct stat found {};
  if (::fstat(opened.get(), &found) != 0) throw Error::io(errno, "cannot stat " + folder.string());
  if (found.st_uid != user)
    throw Error::invalid_argument(folder.string() + " belongs to user " + std::to_string(found.st_uid) + ", not to " +
                                  std::to_string(user));
  if ((found.st_mode & 077) != 0) {
    std::array<char, 8> mode{};
    std::snprintf(mode.data(), mode.size(), "%03o", static_cast<unsigned>(found.st_mode & 0777));
    throw Error::invalid_argument(folder.string() + " is open to other users (mode " + mode.data() +
                                  "): chmod 700 it, or remove it");
  }
  return opened;
}

}  // namespace penstock
