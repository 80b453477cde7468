// Reads a range of an object and waits for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace penstock {

/// Fills `into` with the object's bytes from `offset` on. Throws Error: io; corrupt, where it ends before that.
void read_range(const std::string& address, std::uint64_t offset, std::span<std::byte> into);

}  // namespace penstock
