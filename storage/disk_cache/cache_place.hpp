// Where a disk cache may lie, and whose it must be.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <sys/types.h>

#include <formats/io/descriptor.hpp>

namespace penstock {

/// A folder that was found good, and with which permissions things are made in it.
struct CachePlace {
  Descriptor folder;
  mode_t folders = 0700, files = 0600;
  std::uint64_t unit = 4096;  ///< bytes of which its disk gives room
};

/// LoaderOptions::disk_cache.path as a path: for "auto", penstock-cache-UID in the folder that the job has for itself
/// (SLURM_TMPDIR, JOB_TMPDIR, PBS_JOBFS, TMPDIR), else in /tmp.
std::filesystem::path cache_path(const std::filesystem::path& dir);

/// Opens the folder, which is made where `make` and it is not there. Throws as DiskCache::open() does.
CachePlace open_cache_place(const std::filesystem::path& path, bool make);

/// Why a file system with this number (statfs(2)) cannot hold a cache: "NFS"; empty where it can.
std::string refused_file_system(std::uint64_t type);

}  // namespace penstock
