// Finds the mount and the block device of a path in /proc and /sys.
#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <string>

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

#include <base/machine.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

// mountinfo writes spaces, tabs, newlines and backslashes as \ooo.
std::string unescaped(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

bool contains(const fs::path& folder, const fs::path& path) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

// mountinfo: ID PARENT MAJOR:MINOR ROOT MOUNT OPTIONS [TAGS...] - TYPE SOURCE SUPER. Source: proc(5). A device may be
// mounted several times. The mount of `path` has the longest name that `path` begins with; of equal names, the last.
void find_mount(const std::string& device_number, const fs::path& path, Disk& disk) {
  std::ifstream mounts("/proc/self/mountinfo");
  disk.file_system = "unknown";
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string id, parent, number, root, mount, word;
    words >> id >> parent >> number >> root >> mount;
    if (number != device_number) continue;
    mount = unescaped(mount);
    if (!contains(mount, path) || mount.size() < disk.mount.size()) continue;
    while (words >> word && word != "-") {
    }
    words >> disk.file_system >> disk.source;
    disk.mount = mount;
  }
}

template <typename T>
T read_one(const fs::path& path, T otherwise) {
  T value{};
  return std::ifstream(path) >> value ? value : otherwise;
}

void describe_device(const std::string& device_number, Disk& disk) {
  std::error_code failed;
  fs::path device = fs::canonical("/sys/dev/block/" + device_number, failed);
  if (failed) return;
  if (fs::exists(device / "partition", failed)) device = device.parent_path();
  disk.device = device.filename().string();
  const fs::path queue = device / "queue";
  if (const int rotational = read_one(queue / "rotational", -1); rotational >= 0) disk.rotational = rotational == 1;
  disk.read_ahead = read_one<std::uint64_t>(queue / "read_ahead_kb", 0) * 1024;
  disk.logical_block_size = read_one<std::uint64_t>(queue / "logical_block_size", 0);
  std::ifstream schedulers(queue / "scheduler");
  for (std::string word; schedulers >> word;)
    if (word.front() == '[') disk.scheduler = word.substr(1, word.size() - 2);
}

}  // namespace

Disk disk_of(const fs::path& path) {
  struct stat status {};
  struct statvfs space {};
  if (stat(path.c_str(), &status) != 0 || statvfs(path.c_str(), &space) != 0)
    throw Error::io(errno, "cannot get the status of " + path.string());
  Disk disk;
  disk.size = std::uint64_t{space.f_blocks} * space.f_frsize;
  disk.available = std::uint64_t{space.f_bavail} * space.f_frsize;
  const std::string number = std::to_string(major(status.st_dev)) + ":" + std::to_string(minor(status.st_dev));
  std::error_code failed;
  find_mount(number, fs::canonical(path, failed), disk);
  describe_device(number, disk);
  return disk;
}

}  // namespace penstock
