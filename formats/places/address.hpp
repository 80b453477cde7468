// Tells addresses of object stores and web servers from paths. Both travel as std::filesystem::path: an address keeps
// its two slashes there, and names are joined to it as to a folder.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace penstock {

/// The address that a user's words mean, as penstock spells it ("gcs:/bucket/train/" becomes "gs://bucket/train"), also
/// where std::filesystem or Python's pathlib took a slash away; nothing of a path. Where a folder "s3:" exists, it is a
/// path. Throws Error: unsupported, for stores that penstock does not read, saying how their files come to a disk;
/// invalid_argument, where it names nothing.
std::optional<std::filesystem::path> address_of(const std::filesystem::path& place);

/// A user's words as they may be shown or kept: an address without user, password and query; a path as it is.
std::string shown_place(const std::filesystem::path& place);

/// Whether it is what address_of() gives, or something joined to that.
bool is_address(const std::filesystem::path& place);

/// "s3" of "S3://bucket/train", and of "s3:/bucket/train"; empty of what has none.
std::string scheme_of_place(const std::filesystem::path& place);

/// Whether something else than a port stands behind the first colon of a URL's host: a part of a password, maybe, that
/// has a slash in it.
bool has_odd_port(std::string_view host);

/// Of web servers, which do not tell what there is.
bool lists_nothing(const std::filesystem::path& address);

/// `folder` / `name`, of a name that a file gave. Throws Error: corrupt, where that leads out of the folder, or, of an
/// address, to another thing than the name's (a query).
std::filesystem::path place_inside(const std::filesystem::path& folder, std::string_view name);

/// Throws Error: unsupported, for the address of a store, before a folder "s3:" is made.
void require_writable_place(const std::filesystem::path& path);

}  // namespace penstock
