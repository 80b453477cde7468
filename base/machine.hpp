// Describes the machine for `penstock doctor` and for the head of a bench report.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock {

inline constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};

struct Machine {
  std::string kernel;         ///< "Linux 6.1.0 x86_64"
  std::string cpu;            ///< model
  unsigned cores_online = 0;  ///< of the machine
  unsigned cores_affinity = 0;
  std::optional<double> cpu_quota;  ///< of the control groups, in cores
  unsigned cores_usable = 0;        ///< usable_cores()

  std::uint64_t memory_total = 0, memory_available = 0;  ///< bytes
  std::uint64_t page_size = 0, huge_page_size = 0;       ///< bytes; huge: 0 when there are none
  std::string transparent_huge_pages;                    ///< "madvise", "always", "never"; empty when unknown
  std::uint64_t memlock_limit = 0;                       ///< bytes, kUnlimited; of this user together
  std::uint64_t open_files_limit = 0;

  int io_uring_errno = 0;  ///< 0: a ring could be set up
  std::string io_uring;    ///< "available", or "EPERM: Operation not permitted (kernel.io_uring_disabled = 2)"
  std::vector<std::pair<std::string, std::string>> libraries;  ///< name and version built with
};

/// `io_uring_errno`: what a ring was refused with, 0 where it was not. Never fails: what cannot be found out stays
/// empty.
Machine this_machine(int io_uring_errno);

/// Where a path lies.
struct Disk {
  std::string file_system;  ///< type: "ext4", "nfs4", "tmpfs"; "unknown" inside a chroot, whose mount is not shown
  std::string mount;        ///< mount point
  std::string source;       ///< device or remote, as mounted
  std::string device;       ///< block device under /sys/block; empty when there is none
  std::optional<bool> rotational;  ///< as the device says; virtual disks often say true whatever they are
  std::string scheduler;
  std::uint64_t read_ahead = 0;           ///< bytes
  std::uint64_t logical_block_size = 0;   ///< bytes
  std::uint64_t size = 0, available = 0;  ///< bytes
};

/// Throws Error: io, when the path does not exist.
Disk disk_of(const std::filesystem::path& path);

}  // namespace penstock
