// Checks who owns a file before its content is believed or removed.
#pragma once

#include <filesystem>

#include <sys/types.h>

#include <formats/io/descriptor.hpp>

struct stat;

namespace penstock {

/// What `index` says of `data` may be believed: it belongs to this user, to root or to the data's owner, and nobody
/// else can write it. Writable for its group is good only where the same group can write the data as well.
bool is_believable(const struct stat& index, const struct stat& data);

/// What grows in `folder` is this user's alone: where it exists, it is a folder, not a link to one, and belongs to this
/// user, or to whoever owns the folder around it (file systems that know no users). Throws Error: invalid_argument; io.
void require_own_folder(const std::filesystem::path& folder);

/// Opens the folder where `user` alone keeps things. Throws Error: io, where it cannot be opened or is a link;
/// invalid_argument, where it belongs to somebody else or is open to others.
Descriptor open_private_folder(const std::filesystem::path& folder, uid_t user);

}  // namespace penstock
