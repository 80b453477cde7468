#include <formats/io/path_pattern.hpp>

#include "fuzz/targets.hpp"

namespace penstock::fuzz {

// Wildcards list folders, so those that could lead anywhere else than to the working directory are not tried.
void pattern(Input input) {
  const std::string_view text = text_of(input);
  is_pattern(text);
  const std::size_t words = expand_braces(text).size();
  require(words != 0, "a pattern of no words");
  const bool stays = text.find('/') == std::string_view::npos && text.find('~') == std::string_view::npos;
  if (stays && words < 16) expand_pattern(text);
}

}  // namespace penstock::fuzz
