// Estimates how much of the data is in the page cache.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <formats/extent.hpp>
#include <storage/read/file_table.hpp>

namespace penstock {

struct Residency {
  unsigned probed = 0, in_memory = 0;
  bool resident() const { return probed != 0 && std::uint64_t{in_memory} * 16 >= std::uint64_t{probed} * 15; }
};

/// Asks whether the middle byte of each extent is in memory: by cachestat, and where that is not to be had by preadv2
/// with RWF_NOWAIT, which does not wait, but has the kernel fetch what it did not find. `files` should therefore be
/// opened for random access, so that this is one page each. What cannot be opened or asked is not in memory; tmpfs and
/// ramfs are.
Residency probe_residency(FileTable& files, std::span<const Extent> extents);

/// "60 of 64 probed extents in memory"
std::string to_string(const Residency& residency);

}  // namespace penstock
