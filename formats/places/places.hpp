// Asks paths and addresses alike: what lies there, and its bytes. While a SeenPlaces is in use, stores are asked once.
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

/// A file that can be read, or an object. False of what the system refuses to look at; throws Error: io, where a store
/// refuses or does not answer, as all of these do of addresses.
bool is_file(const std::filesystem::path& place);
/// Of a store, one that something lies in. Of web servers, one that something was found in.
bool is_folder(const std::filesystem::path& place);
/// Throws Error: io, where it is no file.
std::uint64_t size_of_file(const std::filesystem::path& place);
/// As visit_names(). Throws Error also: unsupported, of web servers.
void visit_place(const std::filesystem::path& folder, const std::function<bool(const char* name)>& visit);

/// Says that these will be asked for, so that a store is asked for all of them at once.
void expect_places(std::span<const std::filesystem::path> places);

/// Null of a path. Throws Error: io, where there is no object of that address.
std::shared_ptr<const StoredObject> object_at(const std::filesystem::path& place);

/// Throws Error: io; invalid_argument, where it is no file.
std::shared_ptr<const ByteSource> open_byte_source(const std::filesystem::path& place,
                                                   Access access = Access::in_order);
/// The object where there is one, in its state; else the file at `path`.
std::shared_ptr<const ByteSource> open_byte_source(const std::filesystem::path& path,
                                                   const std::shared_ptr<const StoredObject>& object, Access access);
/// Its first `length` bytes, or all that it has. Throws what open_byte_source() and reading throw.
std::vector<std::byte> first_bytes(const std::filesystem::path& place, std::size_t length);

/// All its bytes. Throws Error: io; resource.
FileBytes read_place(const std::filesystem::path& place);

/// Whether the name is a pattern and nothing has it as its own name. Web servers are not asked: they have no wildcards.
bool is_pattern_of_places(const std::filesystem::path& place);

/// As expand_pattern(), of a user's words that name addresses too. Throws Error also: unsupported, of wildcards on a
/// web server; what address_of() throws.
std::vector<std::filesystem::path> expand_places(const std::filesystem::path& pattern);

}  // namespace penstock
