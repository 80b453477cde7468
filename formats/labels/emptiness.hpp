// Finds facts about an opened dataset that are not errors, but must not go unnoticed.
#pragma once

#include <string>
#include <vector>

#include <penstock/dataset.hpp>

namespace penstock {

/// "0 samples: the archive has no members", or that samples have no fields; empty where there is something to load.
std::string emptiness(const Dataset& dataset);

/// Everything to warn of: emptiness(), or the "warnings" in the attributes of shards, which name the shard if there
/// are several. At most 8 of them are listed.
std::vector<std::string> warnings_of(const Dataset& dataset);

/// Throws Error: invalid_argument, "nothing to pack", where there is nothing to load.
void require_something_to_pack(const Dataset& dataset);

}  // namespace penstock
