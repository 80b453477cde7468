#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <penstock/error.hpp>
#include <storage/disk_cache/cache_place.hpp>
#include <storage/read/network_file_system.hpp>

namespace penstock {
namespace {

bool in_group(gid_t group) {
  if (::getegid() == group || ::geteuid() == 0) return true;
  const int count = ::getgroups(0, nullptr);
  std::vector<gid_t> groups(static_cast<std::size_t>(std::max(count, 0)));
  if (count <= 0 || ::getgroups(count, groups.data()) < 0) return false;
  return std::ranges::find(groups, group) != groups.end();
}

// Accepts a folder that belongs to this user only, or one that was made for a group (group-writable, setgid).
void require_own(const std::filesystem::path& path, CachePlace& place) {
  struct stat found {};
  if (::fstat(place.folder.get(), &found) != 0) throw Error::io(errno, "cannot read the owner of " + path.string());
  const auto refuse = [&](const std::string& why) {
    throw Error::invalid_argument("cannot cache in " + path.string() + ": " + why);
  };
  if ((found.st_mode & S_IWOTH) != 0) refuse("every user can write to it; only the owner of a cache may (chmod o-w)");
  const bool of_group = (found.st_mode & S_IWGRP) != 0 && (found.st_mode & S_ISGID) != 0;
  if (of_group && in_group(found.st_gid)) {
    place.folders = 02770;
    place.files = 0660;
    return;
  }
  if (found.st_uid != ::geteuid())
    refuse("it belongs to user " + std::to_string(found.st_uid) + ", not to " + std::to_string(::geteuid()));
  if ((found.st_mode & S_IWGRP) != 0)
    refuse("its group can write to it; chmod g-w it, or chmod g+s it, so that the group shares the cache");
}

void require_good_disk(const std::filesystem::path& path, CachePlace& place) {
  struct statfs disk {};
  if (::fstatfs(place.folder.get(), &disk) != 0)
    throw Error::io(errno, "cannot read the file system of " + path.string());
  const std::string_view network = network_file_system(static_cast<std::uint32_t>(disk.f_type));
  if (!network.empty())
    throw Error::invalid_argument("cannot cache in " + path.string() + ": it is on " + std::string(network) +
                                  ", which is not a local disk of this node");
  place.unit = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(disk.f_bsize), 4096, 256 << 10);
}

}  // namespace

std::filesystem::path cache_path(const std::filesystem::path& dir) {
  if (dir != "auto") return dir;
  std::filesystem::path around = "/tmp";
  for (const char* name : {"SLURM_TMPDIR", "JOB_TMPDIR", "PBS_JOBFS", "TMPDIR"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || value[0] != '/') continue;
    around = value;
    break;
  }
  return around / ("penstock-cache-" + std::to_string(::geteuid()));
}

CachePlace open_cache_place(const std::filesystem::path& path, bool make) {
  if (make && ::mkdir(path.c_str(), 0700) != 0 && errno == ENOENT && path.has_parent_path()) {
    std::error_code failed;
    std::filesystem::create_directories(path.parent_path(), failed);
    ::mkdir(path.c_str(), 0700);
  }
  // A failed mkdir() needs no check: either the folder exists, or open() fails for the same reason.
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 && (errno == ELOOP || errno == ENOTDIR))
    throw Error::invalid_argument("cannot cache in " + path.string() + ": it is a link or not a folder");
  if (fd < 0) throw Error::io(errno, "cannot open the cache's folder " + path.string());
  CachePlace place{.folder = Descriptor(fd)};
  require_own(path, place);
  require_good_disk(path, place);
  return place;
}

}  // namespace penstock
