// Counts the cores that this process may use.
#pragma once

#include <filesystem>
#include <optional>

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

/// The share of one of `local_ranks` processes that the same job runs on this machine: a part of the quota, and of the
/// cores unless the process is bound to some of the machine's already, as mpirun and srun do it. At least 1.
unsigned cores_of_rank(unsigned affinity, unsigned machine, std::optional<double> quota, unsigned local_ranks);

}  // namespace penstock
