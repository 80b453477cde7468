#include <cstddef>

#include <formats/text/json_depth.hpp>
#include <penstock/error.hpp>

namespace penstock {

void require_shallow_json(std::string_view text) {
  constexpr std::size_t kDeepest = 64;
  std::size_t depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\') ++i;
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '[' || c == '{') ++depth;
    if ((c == ']' || c == '}') && depth != 0) --depth;
    if (depth > kDeepest) throw Error::corrupt("JSON with more than 64 levels of arrays and objects");
  }
}

}  // namespace penstock
