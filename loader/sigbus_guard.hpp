// Copies from mapped files that survive the file being cut short under them.
#pragma once

#include <cstddef>

namespace penstock {

/// memcpy from a mapping. False when the pages cannot be had (the file was truncated, or its storage failed), where a
/// plain memcpy would end the process by SIGBUS; `destination` is then written in part.
///
/// The first call installs a handler for SIGBUS, which stays. A SIGBUS from anywhere but this function, on any thread,
/// goes on to the handler that was there before, or to the default action.
bool copy_from_mapping(void* destination, const void* source, std::size_t bytes);

}  // namespace penstock
