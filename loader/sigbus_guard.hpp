// Copies from mapped files that survive the file being cut short under them.
#pragma once

#include <cstddef>
#include <span>

#include <penstock/loader/read_engine.hpp>

namespace penstock {

/// memcpy from a mapping. False when the pages cannot be had (the file was truncated, or its storage failed), where a
/// plain memcpy would end the process by SIGBUS; `destination` is then written in part.
///
/// The first call installs a handler for SIGBUS, which stays. A SIGBUS from anywhere but this function, on any thread,
/// goes on to the handler that was there before, or to the default action.
bool copy_from_mapping(void* destination, const void* source, std::size_t bytes);

/// The same for many extents of one file that is mapped at `base`, which must hold them: lines of memory that come next
/// are fetched while one is copied. Returns how many were copied whole: all, or those before the first that failed.
std::size_t copy_from_mapping(const std::byte* base, std::span<const ReadRequest> requests);

}  // namespace penstock
