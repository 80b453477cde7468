// Counts the work of the machine's cores, disks and networks. The difference between two looks shows how busy they are.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace penstock {

struct DiskCount {
  std::string name;
  std::uint64_t read_bytes = 0, written_bytes = 0, reads = 0;
  double busy = 0;  ///< seconds with at least one request
};

struct NetworkCount {
  std::string name;
  std::uint64_t received = 0, sent = 0;  ///< bytes
};

/// Counts since the machine started. Unreadable values stay empty.
struct NodeCount {
  std::chrono::steady_clock::time_point at{};
  unsigned cores = 0;                 ///< of the machine
  std::uint64_t ticks = 0, busy = 0;  ///< of all cores together, and the part in which they worked
  std::optional<double> quota;        ///< of this process's control groups, in cores
  std::optional<double> group_used;   ///< core seconds used by its control group
  std::vector<DiskCount> disks;       ///< whole disks, not partitions
  std::vector<NetworkCount> networks;
};

/// Reads ROOT/proc and ROOT/sys.
/// Source: proc(5), stat, net/dev; Linux, Documentation/admin-guide/iostats.rst, cgroup-v2.rst (cpu.stat).
NodeCount count_node(const std::filesystem::path& root = "/");

struct NodeUse {
  double cores_busy = 0;  ///< of the machine
  unsigned cores = 0;
  std::optional<double> quota, group_busy;  ///< cores
  struct Disk {
    std::string name;
    double read_per_s = 0, written_per_s = 0, reads_per_s = 0;  ///< bytes; reads_per_s: number
    double busy = 0;                                            ///< share, 0 to 1
  };
  struct Network {
    std::string name;
    double received_per_s = 0, sent_per_s = 0;  ///< bytes
  };
  std::vector<Disk> disks;
  std::vector<Network> networks;
};

/// The use between two looks. All zero if no time has passed or a counter decreased.
NodeUse use_between(const NodeCount& before, const NodeCount& after);

}  // namespace penstock
