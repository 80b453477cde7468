// Reads an object of a store by ranges, with read-ahead for sequential readers.
#pragma once

#include <memory>

#include <formats/io/byte_source.hpp>
#include <formats/io/file_identity.hpp>
#include <formats/places/object_store.hpp>

namespace penstock {

/// Makes the identity of an object's version from its version, length and time. Objects have no inodes.
FileIdentity identity_of(const StoredObject& object);

/// Reads only that version of the object. Sequential reads, also with gaps, use requests that grow to 8 MiB, with the
/// next one in flight. Random reads use requests of 64 KiB. Holds at most 24 MiB. Sends no request before the first
/// read. Reads throw the errors of the store.
std::shared_ptr<const ByteSource> open_stored_source(std::shared_ptr<const StoredObject> object, Access access);

}  // namespace penstock
