// Tries a read again where storage failed.
#pragma once

#include <chrono>

#include <penstock/base/error.hpp>

namespace penstock {

/// Calls read(), up to three times where it throws Error: io; the last one, any other error, and one that came after
/// half a minute (a store was asked again and again by then) passes.
template <typename Read>
void insist(const Read& read) {
  constexpr int kReadAttempts = 3;
  constexpr std::chrono::seconds kLong{30};
  const auto began = std::chrono::steady_clock::now();
  for (int attempt = 1;; ++attempt) {
    try {
      return read();
    } catch (const Error& error) {
      const bool waited = std::chrono::steady_clock::now() - began > kLong;
      if (error.kind() != ErrorKind::io || attempt == kReadAttempts || waited) throw;
    }
  }
}

}  // namespace penstock
