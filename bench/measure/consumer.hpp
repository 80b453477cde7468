// Stands in for a training loop: it spends time between two calls of next().
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include <bench/measure/mlperf.hpp>

namespace penstock {

/// Takes a fixed time for each batch: not at all, computing on this core (busy), or waiting as for a GPU (sleep).
struct Consumer {
  enum class Kind { none, busy, sleep };
  Kind kind = Kind::none;
  std::chrono::nanoseconds step{};                   ///< time for a batch
  const EmulatedAccelerator* accelerator = nullptr;  ///< that it stands for; null for a time of one's own

  /// "none", "busy:MS" or "sleep:MS" with milliseconds, fractions allowed; "mlperf:NAME" sleeps as
  /// emulated_accelerator(NAME) computes. Throws Error: invalid_argument.
  static Consumer parse(std::string_view text);
  void take() const;
  std::string name() const;  ///< as parse() reads it
};

}  // namespace penstock
