// Finds the name that a misspelled one probably means.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace penstock {

/// Returns the known name with the smallest edit distance (Levenshtein). Returns an empty text if more than a third of
/// the characters differ.
std::string_view closest_name(std::string_view unknown, std::span<const std::string> known);

}  // namespace penstock
