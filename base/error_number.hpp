// Names of the kernel's error numbers.
#pragma once

#include <string>

namespace penstock {

/// "EPERM" of EPERM; the number itself of one that system calls of penstock's do not end with.
std::string error_number_name(int number);

}  // namespace penstock
