// Counts the cores that this process may use.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <vector>

namespace penstock {

/// Returns the CPU quota of the process's control groups, in cores; nothing if there is no limit. Each group up to the
/// root may set a quota, and the smallest one applies. Reads ROOT/proc/self/cgroup and ROOT/sys/fs/cgroup.
/// Source: Linux, Documentation/admin-guide/cgroup-v2.rst (cpu.max), scheduler/sched-bwc.rst (cpu.cfs_quota_us).
std::optional<double> cpu_quota(const std::filesystem::path& root = "/");

/// Cores that this process may use, given the affinity mask and the cgroup CPU quota; at least 1.
unsigned usable_cores();
unsigned cores_in_affinity_mask();
unsigned cores_online();  ///< of the machine

/// Whole cores within both limits; at least 1.
unsigned cores_within(unsigned affinity, std::optional<double> quota);

/// Measures how many of the usable cores are idle. Uses ROOT/proc/stat (proc(5)) for the affinity mask, and the usage
/// counts of control groups (cpu.stat, cpuacct.usage) for their quota. Each call opens files.
class IdleCores {
 public:
  explicit IdleCores(std::filesystem::path root = "/");
  /// Returns the average since the last call or the construction; nothing if the system does not report it, or not yet.
  std::optional<double> lap();

 private:
  /// A control group with a quota.
  struct Group {
    std::filesystem::path usage;  ///< file with its usage count
    double quota;                 ///< cores
  };
  struct Look {
    std::chrono::steady_clock::time_point at;
    std::optional<double> idle;                ///< core seconds, of the machine
    std::vector<std::optional<double>> usage;  ///< core seconds, of each group
  };
  Look look() const;

  std::filesystem::path root_;
  std::vector<Group> groups_;
  Look last_;
};

/// Returns the share of one of `local_ranks` processes of a job on this machine. The share is a part of the quota and
/// of the cores. Cores are not divided if the process is already bound to some of them, as mpirun and srun do it. At
/// least 1.
unsigned cores_of_rank(unsigned affinity, unsigned machine, std::optional<double> quota, unsigned local_ranks);
/// The same as a fraction: less than one if there are more ranks than cores.
double share_of_cores(unsigned affinity, unsigned machine, std::optional<double> quota, unsigned local_ranks);

}  // namespace penstock
