// Messages for users while a store does not answer, or sends too much.
#pragma once

#include <chrono>
#include <string_view>

namespace penstock {

/// A read that waits longer than this is reported.
inline constexpr std::chrono::seconds kWorthALine{10};

/// Writes "penstock: waiting for ADDRESS (12 s): FAILURE" to stderr, at most every 30 seconds. Thread-safe.
void say_waiting(std::string_view address, std::chrono::steady_clock::duration waited,
                 std::string_view failure) noexcept;

/// Writes to stderr, once per process, that the server of this address sends whole objects instead of ranges.
/// Thread-safe.
void say_whole_objects(std::string_view address) noexcept;

}  // namespace penstock
