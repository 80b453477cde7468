// Tries a read again where storage failed.
#pragma once

#include <penstock/base/error.hpp>

namespace penstock {

/// Calls read(), up to three times where it throws Error: io; the last one, and any other error, passes.
template <typename Read>
void insist(const Read& read) {
  constexpr int kReadAttempts = 3;
  for (int attempt = 1;; ++attempt) {
    try {
      return read();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::io || attempt == kReadAttempts) throw;
    }
  }
}

}  // namespace penstock
