// Reads a mixture from a file, so that programs and the command can have the same one.
#pragma once

#include <filesystem>

#include <penstock/order/mixture/mixture.hpp>

namespace penstock {

/// A file of JSON that describes a mixture: its name ends in ".json", and it is no folder.
bool is_mixture_file(const std::filesystem::path& path);

/// {"sources": {name: path, ...}, "weights": {name: number}, "temperature": number, "stop": "first_exhausted" |
/// "all_exhausted" | number, "sampling": "shares" | "random", "on_change": "raise" | "carry", "schedule": [[position,
/// {name: number}], ...]}; all but "sources" may be left out. A source may also be
/// {"path": path} with the options of its open() ("format", "split", ...). Paths are relative to the file's folder;
/// sources stand in the order of their names' bytes. Opens the datasets. Throws Error: io; invalid_argument, naming the
/// file, for anything else than that; what opening and Mixture throw.
Mixture read_mixture(const std::filesystem::path& path);

}  // namespace penstock
