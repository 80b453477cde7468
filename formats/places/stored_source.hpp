// Reads an object of a store by ranges, ahead of those who read it in order.
#pragma once

#include <memory>

#include <formats/io/byte_source.hpp>
#include <formats/io/file_identity.hpp>
#include <formats/places/object_store.hpp>

namespace penstock {

/// What tells a state of an object from others, where files have times and inodes: made of its version, length and
/// time.
FileIdentity identity_of(const StoredObject& object);

/// Reads that state of the object alone. Who reads in order, also with gaps, is served by requests that grow to 8 MiB,
/// of which the next is under way; who reads here and there by 64 KiB. At most 24 MiB are held. Nothing is asked for
/// before the first read. Reads throw what the store's do.
std::shared_ptr<const ByteSource> open_stored_source(std::shared_ptr<const StoredObject> object, Access access);

}  // namespace penstock
