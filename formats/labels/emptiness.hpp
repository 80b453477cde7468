// Describes datasets of which nothing can be loaded. Opening them is no error, but it must not go unnoticed.
#pragma once

#include <string>

#include <penstock/formats/dataset.hpp>

namespace penstock {

/// "0 samples: the archive has no members", or that samples have no fields; empty where there is something to load.
std::string emptiness(const Dataset& dataset);

/// Throws Error: invalid_argument, "nothing to pack", where there is nothing to load.
void require_something_to_pack(const Dataset& dataset);

}  // namespace penstock
