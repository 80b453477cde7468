// Meanings of the quantities on the overview's HTML page. Keep them equal to the comments in steps.hpp and
// device_use.hpp.
#pragma once

#include <string>
#include <string_view>

#include <overview/steps.hpp>

namespace penstock::overview::page {

std::string_view meaning(Category category);  ///< in one sentence
/// Returns whether only a device has this category, so that a trace without devices lacks it.
bool is_of_device(Category category);

std::string definitions();  ///< a section

}  // namespace penstock::overview::page
