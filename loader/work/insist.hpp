// Retries a failed read from a disk.
#pragma once

#include <penstock/error.hpp>

namespace penstock {

/// Calls read() up to three times if it throws Error: io and is_of_disk() returns true. The last error and all other
/// errors are passed on. Reads from stores are not repeated here, because the engine retries them until their
/// deadline.
template <typename Read, typename IsOfDisk>
void insist(const Read& read, const IsOfDisk& is_of_disk) {
  constexpr int kReadAttempts = 3;
  for (int attempt = 1;; ++attempt) {
    try {
      return read();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::io || attempt == kReadAttempts || !is_of_disk()) throw;
    }
  }
}

}  // namespace penstock
