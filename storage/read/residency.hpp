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

/// Checks whether the middle byte of each extent is in memory. Uses cachestat or, if it is not available, preadv2 with
/// RWF_NOWAIT; on overlayfs, mincore. RWF_NOWAIT does not wait, but makes the kernel fetch the missing data. `files`
/// should therefore be opened for random access, so that each miss fetches one page. Files that cannot be opened or
/// probed count as not in memory; files on tmpfs and ramfs count as in memory.
Residency probe_residency(FileTable& files, std::span<const Extent> extents);

/// Formats it as "60 of 64 probed extents in memory".
std::string to_string(const Residency& residency);

}  // namespace penstock
