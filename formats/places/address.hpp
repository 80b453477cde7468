// Distinguishes addresses of object stores and web servers from paths. Both are passed as std::filesystem::path: an
// address keeps its two slashes there, and names are joined to it as to a folder.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace penstock {

/// Returns the normalised address of a user's text ("gcs:/bucket/train/" becomes "gs://bucket/train"), even if
/// std::filesystem or Python's pathlib removed a slash. Returns nothing for a path. If a folder "s3:" exists, the text
/// is a path. Throws Error: unsupported, for stores that penstock does not read, with the command that copies their
/// files to a disk; invalid_argument, if the address is incomplete.
std::optional<std::filesystem::path> address_of(const std::filesystem::path& place);

/// Returns the user's text in a form that may be shown or stored: an address without user, password and query, or an
/// unchanged path.
std::string shown_place(const std::filesystem::path& place);

/// Returns whether `place` is a result of address_of(), or something joined to one.
bool is_address(const std::filesystem::path& place);

/// Returns "s3" for "S3://bucket/train" and for "s3:/bucket/train". Empty if there is no scheme.
std::string scheme_of_place(const std::filesystem::path& place);

/// Returns whether something other than a port follows the first colon of a URL's host. The text may be part of a
/// password that contains a slash.
bool has_odd_port(std::string_view host);

/// Returns true for web servers, which cannot list their contents.
bool lists_nothing(const std::filesystem::path& address);

/// Returns `folder` / `name`, for a name from a file. Throws Error: corrupt, if the name leads out of the folder or, in
/// an address, to something other than the name (a query).
std::filesystem::path place_inside(const std::filesystem::path& folder, std::string_view name);

/// Throws Error: unsupported, for the address of a store, before a folder "s3:" is created.
void require_writable_place(const std::filesystem::path& path);

}  // namespace penstock
