#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include <sched.h>
#include <unistd.h>

#include <penstock/base/cores.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

// cpu.max: "QUOTA PERIOD" in microseconds, or "max PERIOD".
std::optional<double> quota_v2(const fs::path& group) {
  std::ifstream file(group / "cpu.max");
  double quota = 0, period = 0;
  if (file >> quota >> period && quota > 0 && period > 0) return quota / period;
  return std::nullopt;
}

// cpu.cfs_quota_us: -1 without a limit.
std::optional<double> quota_v1(const fs::path& group) {
  std::ifstream quota_file(group / "cpu.cfs_quota_us"), period_file(group / "cpu.cfs_period_us");
  double quota = 0, period = 0;
  if (quota_file >> quota && period_file >> period && quota > 0 && period > 0) return quota / period;
  return std::nullopt;
}

// Of a group and all above it. Inside a container the path that the kernel tells may not exist: then those that do.
template <typename Quota>
void take_smallest(const fs::path& mount, const fs::path& group, Quota quota, std::optional<double>& smallest) {
  fs::path at = mount / group.relative_path();
  while (true) {
    if (const auto found = quota(at)) smallest = std::min(found.value(), smallest.value_or(*found));
    if (at == mount || !at.has_relative_path()) return;
    at = at.parent_path();
  }
}

}  // namespace

std::optional<double> cpu_quota(const fs::path& root) {
  const fs::path mounts = root / "sys/fs/cgroup";
  std::optional<double> smallest;
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // NUMBER:CONTROLLERS:PATH
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const fs::path group = line.substr(second + 1);
    if (controllers.empty())
      take_smallest(mounts, group, quota_v2, smallest);
    else if (("," + controllers + ",").find(",cpu,") != std::string::npos)
      take_smallest(mounts / (fs::exists(mounts / controllers) ? controllers : "cpu"), group, quota_v1, smallest);
  }
  return smallest;
}

unsigned cores_in_affinity_mask() {
  constexpr std::size_t kMostCores = 1 << 14;
  cpu_set_t* mask = CPU_ALLOC(kMostCores);
  if (mask == nullptr) return 1;
  const std::size_t bytes = CPU_ALLOC_SIZE(kMostCores);
  const int cores = sched_getaffinity(0, bytes, mask) == 0 ? CPU_COUNT_S(bytes, mask) : 1;
  CPU_FREE(mask);
  return static_cast<unsigned>(std::max(cores, 1));
}

unsigned cores_online() {
  return static_cast<unsigned>(std::max(::sysconf(_SC_NPROCESSORS_ONLN), 1L));
}

unsigned cores_within(unsigned affinity, std::optional<double> quota) {
  if (!quota) return std::max(affinity, 1u);
  const double whole = std::clamp(std::round(*quota), 1.0, static_cast<double>(std::max(affinity, 1u)));
  return static_cast<unsigned>(whole);
}

unsigned cores_of_rank(unsigned affinity, unsigned machine, std::optional<double> quota, unsigned local_ranks) {
  const double ranks = std::max(local_ranks, 1u);
  if (quota) *quota /= ranks;
  // A launcher that binds its ranks has already shared out the cores.
  const unsigned share = affinity < machine ? affinity : static_cast<unsigned>(affinity / ranks);
  return cores_within(std::max(share, 1u), quota);
}

unsigned usable_cores() {
  return cores_within(cores_in_affinity_mask(), cpu_quota());
}

}  // namespace penstock
