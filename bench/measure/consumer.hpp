// Stands in for a training loop: it spends time between two calls of next().
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace penstock {

/// Takes a fixed time for each batch: not at all, computing on this core (busy), or waiting as for a GPU (sleep).
struct Consumer {
  enum class Kind { none, busy, sleep };
  Kind kind = Kind::none;
  std::chrono::nanoseconds step{};  ///< time for a batch

  /// "none", "busy:MS" or "sleep:MS" with milliseconds, fractions allowed. Throws Error: invalid_argument.
  static Consumer parse(std::string_view text);
  void take() const;
  std::string name() const;  ///< as parse() reads it
};

}  // namespace penstock
