// Identifies the current boot of the machine.
#pragma once

#include <string>

namespace penstock {

/// Returns boot_id of random(4), "00000000-0000-0000-0000-000000000000". The value changes with each boot. Empty if not
/// available.
std::string boot_id();

}  // namespace penstock
