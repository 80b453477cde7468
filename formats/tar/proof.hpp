// Proves by the members' headers that an index of a tar archive is still the right one.
#pragma once

#include <filesystem>

#include <penstock/formats/dataset.hpp>
#include <penstock/formats/index/index.hpp>

namespace penstock {

/// True when the members of `shard` are those that `index` lists: names, places and sizes, in order. The system is
/// asked ahead for the headers, whose places the index tells. False, too, for archives with hard links, and for those
/// that kTar.index would refuse. Throws Error: io.
bool tar_proves(const std::filesystem::path& shard, const Index& index, const OpenProgress& progress);

}  // namespace penstock
