// Rules for the location and the owner of a disk cache.
#pragma once

#include <cstdint>
#include <filesystem>

#include <sys/types.h>

#include <formats/io/descriptor.hpp>

namespace penstock {

/// A folder that passed the checks, and the permissions for files and folders made in it.
struct CachePlace {
  Descriptor folder;
  mode_t folders = 0700, files = 0600;
  std::uint64_t unit = 4096;  ///< allocation unit of its disk, in bytes
};

/// Converts LoaderOptions::disk_cache.path to a path. "auto" is penstock-cache-UID in the job's temporary folder
/// (SLURM_TMPDIR, JOB_TMPDIR, PBS_JOBFS, TMPDIR), or in /tmp without one.
std::filesystem::path cache_path(const std::filesystem::path& dir);

/// Opens the folder, and creates it if `make` and it does not exist. Throws as DiskCache::open().
CachePlace open_cache_place(const std::filesystem::path& path, bool make);

}  // namespace penstock
