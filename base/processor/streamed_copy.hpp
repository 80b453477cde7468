// Copies rows past the processor's caches, because nobody reads them again soon.
#pragma once

#include <cstddef>
#include <span>

namespace penstock {

/// memcpy that writes past the caches where the processor can: the memory's lines are then not read before they are
/// overwritten. Done when it returns, for every thread that learns of it.
void copy_streamed(std::byte* to, std::span<const std::byte> bytes);

/// The last cache that one core reaches, in bytes; 32 MiB where the system does not say.
std::size_t last_cache_bytes();

}  // namespace penstock
