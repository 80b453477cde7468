// Names of the kernel's error numbers.
#pragma once

#include <string>

namespace penstock {

/// Returns "EPERM" for EPERM; the number itself if none of penstock's system calls fails with it.
std::string error_number_name(int number);

}  // namespace penstock
