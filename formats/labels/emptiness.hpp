// Finds facts about an opened dataset that are not errors but that users should see.
#pragma once

#include <string>
#include <vector>

#include <penstock/dataset.hpp>

namespace penstock {

/// Returns "0 samples: the archive has no members", or that samples have no fields. Empty if there is something to
/// load.
std::string emptiness(const Dataset& dataset);

/// Returns all warnings: emptiness(), or the "warnings" in the attributes of shards. If there are several shards, each
/// warning names its shard. Lists at most 8.
std::vector<std::string> warnings_of(const Dataset& dataset);

/// Throws Error: invalid_argument, "nothing to pack", if there is nothing to load.
void require_something_to_pack(const Dataset& dataset);

}  // namespace penstock
