// Limits the nesting depth of JSON from outside sources.
#pragma once

#include <string_view>

namespace penstock {

/// Throws Error: corrupt, if arrays and objects of the text nest more than 64 levels deep. The JSON library copies and
/// writes values by recursion, so a file of only "[" would overflow its stack. The function does not check that the
/// text is JSON.
void require_shallow_json(std::string_view text);

}  // namespace penstock
