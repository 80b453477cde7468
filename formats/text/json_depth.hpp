// Limits how deeply JSON that others wrote may nest.
#pragma once

#include <string_view>

namespace penstock {

/// Throws Error: corrupt, when arrays and objects of the text stand more than 64 deep in one another: the JSON library
/// copies and writes values by recursion, and a file of nothing but "[" would end its stack. Whether the text is JSON
/// is for a parser to say.
void require_shallow_json(std::string_view text);

}  // namespace penstock
