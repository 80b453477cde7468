// Reads a range of an object and waits for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <formats/places/object_store.hpp>

namespace penstock {

/// Fills `into` with the object's bytes from `offset` on. Throws Error: io; corrupt, if the object ends earlier;
/// resource, "interrupted".
void read_range(const std::string& address, std::uint64_t offset, std::span<std::byte> into);

/// The same for that version of the object.
void read_range(const StoredObject& object, std::uint64_t offset, std::span<std::byte> into);

}  // namespace penstock
