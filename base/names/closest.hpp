// Finds the name that a misspelled one probably means.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace penstock {

/// Returns "did you mean "mask"?" for the most similar of the known names, or "it is none of "jpg", "mask"" if none is
/// similar: more than a third of the characters differ.
std::string meant_name(std::string_view unknown, std::span<const std::string> known);

}  // namespace penstock
