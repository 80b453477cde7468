// Writes a number that was drawn, for people.
#pragma once

#include <string>

namespace penstock {

/// Six digits at most.
std::string short_text(double value);

}  // namespace penstock
