// Counts the cores that this process may use.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <vector>

namespace penstock {

/// CPU quota of the process's control groups, in cores; nothing when there is no limit. Each group up to the top may
/// set one and the smallest counts. Reads ROOT/proc/self/cgroup and ROOT/sys/fs/cgroup.
/// Source: Linux, Documentation/admin-guide/cgroup-v2.rst (cpu.max), scheduler/sched-bwc.rst (cpu.cfs_quota_us).
std::optional<double> cpu_quota(const std::filesystem::path& root = "/");

/// Cores this process may use: affinity mask and cgroup CPU quota, at least 1.
unsigned usable_cores();
unsigned cores_in_affinity_mask();
unsigned cores_online();  ///< of the machine

/// Whole cores out of both; at least 1.
unsigned cores_within(unsigned affinity, std::optional<double> quota);

/// Watches what of the usable cores nobody uses: of those in the affinity mask by ROOT/proc/stat (proc(5)), within the
/// control groups' quota by their own count of what they used (cpu.stat, cpuacct.usage). Opens files in each call.
class IdleCores {
 public:
  explicit IdleCores(std::filesystem::path root = "/");
  /// On average since the last call, or since this was made; nothing where the system does not tell, or not yet.
  std::optional<double> lap();

 private:
  /// A control group with a limit.
  struct Group {
    std::filesystem::path usage;  ///< the file that counts it
    double quota;                 ///< cores
  };
  struct Look {
    std::chrono::steady_clock::time_point at;
    std::optional<double> idle;                ///< seconds of cores, of the machine
    std::vector<std::optional<double>> usage;  ///< seconds of cores, of each group
  };
  Look look() const;

  std::filesystem::path root_;
  std::vector<Group> groups_;
  Look last_;
};

/// The share of one of `local_ranks` processes that the same job runs on this machine: a part of the quota, and of the
/// cores unless the process is bound to some of the machine's already, as mpirun and srun do it. At least 1.
unsigned cores_of_rank(unsigned affinity, unsigned machine, std::optional<double> quota, unsigned local_ranks);
/// The same as it is: where there are more ranks than cores, less than one.
double share_of_cores(unsigned affinity, unsigned machine, std::optional<double> quota, unsigned local_ranks);

}  // namespace penstock
