// Queries paths and addresses through one interface: existence, size and bytes. While a SeenPlaces is in use, each
// store request is made once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <formats/io/byte_source.hpp>
#include <formats/io/file_bytes.hpp>
#include <formats/io/file_identity.hpp>
#include <formats/places/address.hpp>
#include <formats/places/object_store.hpp>

namespace penstock {

/// Returns true for a readable file or an object. False if the system refuses access. Throws Error: io, if a store
/// refuses or does not respond. All functions below do so for addresses.
bool is_file(const std::filesystem::path& place);
/// In a store, true for a folder with entries. On a web server, true for a folder in which something was found.
bool is_folder(const std::filesystem::path& place);
/// Throws Error: io, if it is not a file.
std::uint64_t size_of_file(const std::filesystem::path& place);
/// Like visit_names(). Also throws Error: unsupported, for web servers.
void visit_place(const std::filesystem::path& folder, const std::function<bool(const char* name)>& visit);

/// Announces these places, so that all of them are looked up in a store at once.
void expect_places(std::span<const std::filesystem::path> places);

/// Returns null for a path. Throws Error: io, if there is no object at that address.
std::shared_ptr<const StoredObject> object_at(const std::filesystem::path& place);

/// Throws Error: io; invalid_argument, if it is not a file.
std::shared_ptr<const ByteSource> open_byte_source(const std::filesystem::path& place,
                                                   Access access = Access::in_order);
/// Opens the object if there is one, in its version. Otherwise opens the file at `path`.
std::shared_ptr<const ByteSource> open_byte_source(const std::filesystem::path& path,
                                                   const std::shared_ptr<const StoredObject>& object, Access access);
/// Returns the first `length` bytes, or all bytes if there are fewer. Throws the errors of open_byte_source() and of
/// reading.
std::vector<std::byte> first_bytes(const std::filesystem::path& place, std::size_t length);

/// Returns all bytes. Throws Error: io; resource.
FileBytes read_place(const std::filesystem::path& place);

/// Returns whether the name is a pattern and no file or object has it as its own name. Web servers are not asked: they
/// have no wildcards.
bool is_pattern_of_places(const std::filesystem::path& place);

/// Like expand_pattern(), for a user's text that may also be an address. Also throws Error: unsupported, for wildcards
/// on a web server, and the errors of address_of().
std::vector<std::filesystem::path> expand_places(const std::filesystem::path& pattern);

}  // namespace penstock
