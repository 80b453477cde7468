// Simulates a training loop: spends time between two calls of next().
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include <bench/measure/mlperf.hpp>

namespace penstock {

/// Takes a fixed time for each batch: none, computing on this core (busy), or waiting as for a GPU (sleep).
struct Consumer {
  enum class Kind { none, busy, sleep };
  Kind kind = Kind::none;
  std::chrono::nanoseconds step{};                   ///< time per batch
  const EmulatedAccelerator* accelerator = nullptr;  ///< the accelerator that it simulates; null for a custom time

  /// Parses "none", "busy:MS" or "sleep:MS" with milliseconds, fractions allowed. "mlperf:NAME" sleeps for the step of
  /// emulated_accelerator(NAME). Throws Error: invalid_argument.
  static Consumer parse(std::string_view text);
  void take() const;
  std::string name() const;  ///< in the form that parse() accepts
};

}  // namespace penstock
