// Knows the words of chains that have another name now: messages tell it, and what was saved with the old one is read.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

/// The present name of a step, "image.random_horizontal_flip" of "image.random_flip"; empty for a name that is no old
/// one.
std::string_view present_step(std::string_view old);
/// The present name of a parameter of a step that is called `step` now; empty for a name that is no old one.
std::string_view present_parameter(std::string_view step, std::string_view old);

/// The text of chains as states and pickles hold it, "jpg = image.random_flip(0.5); cls = label()", with the present
/// names in place of old ones. Text without old names stays as it is.
std::string in_present_words(std::string_view saved);

}  // namespace penstock
