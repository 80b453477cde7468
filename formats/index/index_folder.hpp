// The user's folder of indexes, for datasets that cannot be written to, and for datasets in stores.
#pragma once

#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

#include <formats/io/file_bytes.hpp>

namespace penstock {

/// Returns $PENSTOCK_INDEX_DIR, or else $XDG_CACHE_HOME/penstock or ~/.cache/penstock. Empty if none is set.
std::filesystem::path index_folder();

/// Returns the path in index_folder() for data about an address, under a name derived from the address. Empty if there
/// is no folder.
std::filesystem::path place_in_index_folder(const std::filesystem::path& address, std::string_view ending);

/// Returns the data stored at `place`. Returns nothing if there is none, or if another user or a link put it there.
/// Throws Error: io; resource.
std::optional<FileBytes> read_kept(const std::filesystem::path& place);

/// Stores data for read_kept(), readable by this user only. Returns false if that fails (a full disk, a read-only
/// folder).
bool keep_at(const std::filesystem::path& place, std::initializer_list<std::span<const std::byte>> parts);

}  // namespace penstock
