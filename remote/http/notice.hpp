// Lines that say why nothing comes while a store does not answer, or too much.
#pragma once

#include <chrono>
#include <string_view>

namespace penstock {

/// After this a read that still waits is worth a line.
inline constexpr std::chrono::seconds kWorthALine{10};

/// Writes to stderr, "penstock: waiting for ADDRESS (12 s): FAILURE", unless it did so in the last half minute. Any
/// thread.
void say_waiting(std::string_view address, std::chrono::steady_clock::duration waited,
                 std::string_view failure) noexcept;

/// Writes to stderr, once in a process, that the server of this address sends whole objects where a part is asked for.
/// Any thread.
void say_whole_objects(std::string_view address) noexcept;

}  // namespace penstock
