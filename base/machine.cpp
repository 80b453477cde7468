#include <algorithm>
#include <fstream>
#include <sstream>

#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <base/cores.hpp>
#include <base/error_number.hpp>
#include <base/machine.hpp>

namespace penstock {
namespace {

std::string kernel_text() {
  utsname names{};
  if (uname(&names) != 0) return "";
  return std::string(names.sysname) + " " + names.release + " " + names.machine;
}

// Returns the value of the first "NAME : value" or "NAME: value" line.
std::string value_in(const char* path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || line.compare(0, name.size(), name) != 0) continue;
    const std::size_t value = line.find_first_not_of(" \t", colon + 1);
    return value == std::string::npos ? "" : line.substr(value);
  }
  return "";
}

std::uint64_t kibibytes_in(const char* path, const std::string& name) {
  std::istringstream value(value_in(path, name));
  std::uint64_t number = 0;
  value >> number;
  return number * 1024;
}

std::string selected(const std::filesystem::path& path) {  // the word in brackets of "always [madvise] never"
  std::ifstream file(path);
  for (std::string word; file >> word;)
    if (word.size() > 2 && word.front() == '[') return word.substr(1, word.size() - 2);
  return "";
}

std::uint64_t limit_of(__rlimit_resource resource) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0) return 0;
  return limit.rlim_cur == RLIM_INFINITY ? kUnlimited : limit.rlim_cur;
}

std::string uring_text(int errnum) {
  if (errnum == 0) return "available";
  std::string text = error_number_name(errnum);
  text.append(": ").append(std::generic_category().message(errnum));
  std::string disabled;
  if (std::ifstream("/proc/sys/kernel/io_uring_disabled") >> disabled && disabled != "0")
    text.append(" (kernel.io_uring_disabled = ").append(disabled).append(")");
  return text;
}

// PENSTOCK_LIBRARIES is "name version,name version", from the build.
std::vector<std::pair<std::string, std::string>> built_with() {
  std::vector<std::pair<std::string, std::string>> libraries;
  std::istringstream list(PENSTOCK_LIBRARIES);
  for (std::string entry; std::getline(list, entry, ',');) {
    const std::size_t space = entry.find(' ');
    if (space != std::string::npos) libraries.emplace_back(entry.substr(0, space), entry.substr(space + 1));
  }
  return libraries;
}

}  // namespace

Machine this_machine(int io_uring_errno) {
  Machine machine;
  machine.kernel = kernel_text();
  machine.cpu = value_in("/proc/cpuinfo", "model name");
  machine.cores_online = static_cast<unsigned>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  machine.cores_affinity = cores_in_affinity_mask();
  machine.cpu_quota = cpu_quota();
  machine.cores_usable = usable_cores();
  machine.memory_total = kibibytes_in("/proc/meminfo", "MemTotal");
  machine.memory_available = kibibytes_in("/proc/meminfo", "MemAvailable");
  machine.page_size = static_cast<std::uint64_t>(std::max(0L, sysconf(_SC_PAGESIZE)));
  machine.huge_page_size = kibibytes_in("/proc/meminfo", "Hugepagesize");
  machine.transparent_huge_pages = selected("/sys/kernel/mm/transparent_hugepage/enabled");
  machine.memlock_limit = limit_of(RLIMIT_MEMLOCK);
  machine.open_files_limit = limit_of(RLIMIT_NOFILE);
  machine.io_uring_errno = io_uring_errno;
  machine.io_uring = uring_text(machine.io_uring_errno);
  machine.libraries = built_with();
  return machine;
}

}  // namespace penstock
