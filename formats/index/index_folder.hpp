// The folder of the user's own indexes: of datasets that cannot be written to, and of those in stores.
#pragma once

#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

#include <formats/io/file_bytes.hpp>

namespace penstock {

/// $PENSTOCK_INDEX_DIR, or else $XDG_CACHE_HOME/penstock or ~/.cache/penstock; empty: there is none.
std::filesystem::path index_folder();

/// Where what is kept of an address lies: a name made from it in index_folder(); empty: nowhere.
std::filesystem::path place_in_index_folder(const std::filesystem::path& address, std::string_view ending);

/// What was kept at `place`, unless another user, or a link, put it there. Nothing where there is none. Throws Error:
/// io; resource.
std::optional<FileBytes> read_kept(const std::filesystem::path& place);

/// Keeps it for read_kept(), for this user alone. False where that cannot be (a full disk, a folder that is read-only).
bool keep_at(const std::filesystem::path& place, std::initializer_list<std::span<const std::byte>> parts);

}  // namespace penstock
