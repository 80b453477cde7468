#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <numeric>
#include <sstream>
#include <string>
#include <utility>

#include <sched.h>
#include <unistd.h>

#include <base/cores.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

// Parses cpu.max: "QUOTA PERIOD" in microseconds, or "max PERIOD".
std::optional<double> quota_v2(const fs::path& group) {
  std::ifstream file(group / "cpu.max");
  double quota = 0, period = 0;
  if (file >> quota >> period && quota > 0 && period > 0) return quota / period;
  return std::nullopt;
}

// Parses cpu.cfs_quota_us: -1 means no limit.
std::optional<double> quota_v1(const fs::path& group) {
  std::ifstream quota_file(group / "cpu.cfs_quota_us"), period_file(group / "cpu.cfs_period_us");
  double quota = 0, period = 0;
  if (quota_file >> quota && period_file >> period && quota > 0 && period > 0) return quota / period;
  return std::nullopt;
}

// Visits a group and its ancestors. In a container some of the kernel's paths may not exist; callers skip those.
template <typename Visit>
void visit_up(const fs::path& mount, const fs::path& group, Visit visit) {
  fs::path at = mount / group.relative_path();
  while (true) {
    visit(at);
    if (at == mount || !at.has_relative_path()) return;
    at = at.parent_path();
  }
}

// Calls v2(group) or v1(group, path below the mount of the controller `cpu`) for each control group of the process.
template <typename Version2, typename Version1>
void visit_groups(const fs::path& root, Version2 v2, Version1 v1) {
  const fs::path mounts = root / "sys/fs/cgroup";
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // NUMBER:CONTROLLERS:PATH
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const fs::path group = line.substr(second + 1);
    if (controllers.empty())
      visit_up(mounts, group, v2);
    else if (("," + controllers + ",").find(",cpu,") != std::string::npos)
      visit_up(mounts / (fs::exists(mounts / controllers) ? controllers : "cpu"), group, v1);
  }
}

// Returns the CPU time used, in core seconds. cpu.stat has lines "NAME NUMBER" with usage_usec; cpuacct.usage has
// nanoseconds.
std::optional<double> usage_in(const fs::path& path) {
  std::ifstream file(path);
  std::optional<double> seconds;
  double number = 0;
  if (path.filename() == "cpuacct.usage") {
    if (file >> number) seconds = number * 1e-9;
    return seconds;
  }
  for (std::string name; !seconds && file >> name >> number;)
    if (name == "usage_usec") seconds = number * 1e-6;
  return seconds;
}

// Calls visit(core) for each core of the affinity mask. Returns false if the system does not report the mask.
template <typename Visit>
bool visit_mask(Visit visit) {
  constexpr std::size_t kMostCores = 1 << 14;
  cpu_set_t* mask = CPU_ALLOC(kMostCores);
  if (mask == nullptr) return false;
  const std::size_t bytes = CPU_ALLOC_SIZE(kMostCores);
  const bool told = sched_getaffinity(0, bytes, mask) == 0;
  for (std::size_t core = 0; told && core < kMostCores; ++core)
    if (CPU_ISSET_S(core, bytes, mask)) visit(static_cast<unsigned>(core));
  CPU_FREE(mask);
  return told;
}

// Parses lines "cpuN user nice system idle iowait irq softirq steal ...", in ticks. Some sandboxes report zeros.
std::optional<double> idle_in(const fs::path& path) {
  std::vector<unsigned> mine;
  visit_mask([&](unsigned core) { mine.push_back(core); });
  std::ifstream file(path);
  double idle = 0, all = 0;
  for (std::string line; std::getline(file, line);) {
    unsigned core = 0;
    std::array<double, 8> ticks{};
    std::istringstream words(line);
    std::string name;
    words >> name;
    if (name.rfind("cpu", 0) != 0 || std::sscanf(name.c_str(), "cpu%u", &core) != 1) continue;
    if (std::ranges::find(mine, core) == mine.end()) continue;
    for (double& count : ticks) words >> count;
    all += std::accumulate(ticks.begin(), ticks.end(), 0.0);
    idle += ticks[3] + ticks[4];
  }
  if (all <= 0) return std::nullopt;
  return idle / static_cast<double>(std::max(::sysconf(_SC_CLK_TCK), 1L));
}

}  // namespace

std::optional<double> cpu_quota(const fs::path& root) {
  std::optional<double> smallest;
  const auto take = [&](std::optional<double> quota) {
    if (quota) smallest = std::min(*quota, smallest.value_or(*quota));
  };
  visit_groups(
      root, [&](const fs::path& group) { take(quota_v2(group)); },
      [&](const fs::path& group) { take(quota_v1(group)); });
  return smallest;
}

IdleCores::IdleCores(fs::path root) : root_(std::move(root)) {
  visit_groups(
      root_,
      [&](const fs::path& group) {
        if (const auto quota = quota_v2(group)) groups_.push_back({group / "cpu.stat", *quota});
      },
      [&](const fs::path& group) {
        if (const auto quota = quota_v1(group)) groups_.push_back({group / "cpuacct.usage", *quota});
      });
  last_ = look();
}

IdleCores::Look IdleCores::look() const {
  Look now{.at = std::chrono::steady_clock::now(), .idle = idle_in(root_ / "proc/stat"), .usage = {}};
  for (const Group& group : groups_) now.usage.push_back(usage_in(group.usage));
  return now;
}

std::optional<double> IdleCores::lap() {
  const Look before = std::exchange(last_, look());
  const double took = std::chrono::duration<double>(last_.at - before.at).count();
  if (took <= 0 || !last_.idle || !before.idle) return std::nullopt;
  double idle = (*last_.idle - *before.idle) / took;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (last_.usage[i] && before.usage[i])
      idle = std::min(idle, groups_[i].quota - (*last_.usage[i] - *before.usage[i]) / took);
  }
  return std::max(idle, 0.0);
}

unsigned cores_in_affinity_mask() {
  unsigned cores = 0;
  visit_mask([&](unsigned) { ++cores; });
  return std::max(cores, 1U);
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
  // A launcher that binds its ranks has already divided the cores among them.
  const unsigned share = affinity < machine ? affinity : static_cast<unsigned>(affinity / ranks);
  return cores_within(std::max(share, 1u), quota);
}

double share_of_cores(unsigned affinity, unsigned machine, std::optional<double> quota, unsigned local_ranks) {
  const double ranks = std::max(local_ranks, 1u);
  const double share = affinity < machine ? affinity : affinity / ranks;
  return quota ? std::min(share, *quota / ranks) : share;
}

unsigned usable_cores() {
  return cores_within(cores_in_affinity_mask(), cpu_quota());
}

}  // namespace penstock
