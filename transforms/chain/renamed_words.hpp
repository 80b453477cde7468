// Lists renamed steps and parameters. Error messages suggest the current name, and saved states with old names are
// read.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

/// Returns the current name of a step ("image.random_horizontal_flip" for "image.random_flip"), or an empty string if
/// `old` is not an old name.
std::string_view present_step(std::string_view old);
/// Returns the current name of a parameter of the step with the current name `step`, or an empty string if `old` is not
/// an old name.
std::string_view present_parameter(std::string_view step, std::string_view old);

/// Replaces old names in the text of chains that a state or pickle contains: "jpg = image.random_flip(0.5); cls =
/// label()". Text without old names stays unchanged.
std::string in_present_words(std::string_view saved);

}  // namespace penstock
