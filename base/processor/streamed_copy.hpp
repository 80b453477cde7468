// Copies rows past the CPU caches, because they are not read again soon.
#pragma once

#include <cstddef>
#include <span>

namespace penstock {

/// Like memcpy, but bypasses the caches if the processor supports it: memory lines are not read before they are
/// overwritten. The copy is complete on return, and visible to every thread that is synchronised with the caller.
void copy_streamed(std::byte* to, std::span<const std::byte> bytes);

/// Returns the size of the last-level cache that one core reaches, in bytes; 32 MiB if the system does not report it.
std::size_t last_cache_bytes();

}  // namespace penstock
