// Finds the mount and the block device of a path in /proc and /sys.
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

// mountinfo: ID PARENT MAJOR:MINOR ROOT MOUNT OPTIONS [TAGS...] - TYPE SOURCE SUPER. Source: proc(5).
void find_mount(const std::string& device_number, Disk& disk) {
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string id, parent, number, root, mount, word;
    words >> id >> parent >> number >> root >> mount;
    if (number != device_number) continue;
    while (words >> word && word != "-") {
    }
    words >> disk.file_system >> disk.source;
    disk.mount = mount;
    return;
  }
  disk.file_system = "unknown";
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
  find_mount(number, disk);
  describe_device(number, disk);
  return disk;
}

}  // namespace penstock
