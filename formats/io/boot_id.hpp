// Tells this run of the machine from others.
#pragma once

#include <string>

namespace penstock {

/// random(4)'s boot_id, "00000000-0000-0000-0000-000000000000": another one after each start. Empty where it is not to
/// be had.
std::string boot_id();

}  // namespace penstock
