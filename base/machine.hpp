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
  std::uint64_t page_size = 0, huge_page_size = 0;       ///< bytes; huge: 0 if there are none
  std::string transparent_huge_pages;                    ///< "madvise", "always", "never"; empty if unknown
  std::uint64_t memlock_limit = 0;                       ///< bytes or kUnlimited; for all processes of this user
  std::uint64_t open_files_limit = 0;

  int io_uring_errno = 0;  ///< 0: a ring can be set up
  std::string io_uring;    ///< "available", or "EPERM: Operation not permitted (kernel.io_uring_disabled = 2)"
  std::vector<std::pair<std::string, std::string>> libraries;  ///< names and versions at build time
};

/// `io_uring_errno` is the errno of a refused ring, or 0. Never fails: unknown values stay empty.
Machine this_machine(int io_uring_errno);

/// The disk that contains a path.
struct Disk {
  std::string file_system;         ///< type: "ext4", "nfs4", "tmpfs"; "unknown" in a chroot, which hides the mount
  std::string mount;               ///< mount point
  std::string source;              ///< device or remote, as mounted
  std::string device;              ///< block device under /sys/block; empty if there is none
  std::optional<bool> rotational;  ///< as the device reports; virtual disks often report true
  std::string scheduler;
  std::uint64_t read_ahead = 0;           ///< bytes
  std::uint64_t logical_block_size = 0;   ///< bytes
  std::uint64_t size = 0, available = 0;  ///< bytes
};

/// Throws Error: io, if the path does not exist.
Disk disk_of(const std::filesystem::path& path);

}  // namespace penstock
