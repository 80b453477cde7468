// Finds files beside shards that may be samples.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace penstock {

/// Returns two files of one kind (image, cloud, array or sound) below `folder`, as relative paths. Empty if there are
/// none. A single file is not a set of samples, and a file with the stem of a shard describes that shard. Skips files
/// that it cannot read.
std::vector<std::string> loose_samples(const std::filesystem::path& folder,
                                       const std::vector<std::filesystem::path>& shards);

}  // namespace penstock
