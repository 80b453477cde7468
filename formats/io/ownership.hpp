// Checks the owner of a file before its content is trusted or removed.
#pragma once

#include <filesystem>

#include <sys/types.h>

#include <formats/io/descriptor.hpp>

struct stat;

namespace penstock {

/// Returns whether the file `index` may be trusted to describe `data`. Its owner must be this user, root or the owner
/// of the data, and other users must not be able to write it. Group write permission is accepted only if the same group
/// can also write the data.
bool is_believable(const struct stat& index, const struct stat& data);

/// Checks that a folder for growing data belongs to this user. If it exists, it must be a folder, not a link. Its owner
/// must be this user, or the owner of the parent folder (for file systems without users). Throws Error:
/// invalid_argument; io.
void require_own_folder(const std::filesystem::path& folder);

/// Opens a folder that only `user` may use. Throws Error: io, if the folder cannot be opened or is a link;
/// invalid_argument, if it belongs to another user or is open to others.
Descriptor open_private_folder(const std::filesystem::path& folder, uid_t user);

}  // namespace penstock
