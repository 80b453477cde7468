// Tries a read again where storage failed.
#pragma once

#include <penstock/error.hpp>

namespace penstock {

/// Calls read(), up to three times where it throws Error: io and is_of_disk() says that this came of a disk; the last
/// one and any other error passes. Stores were asked again and again by then, until their deadline.
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
