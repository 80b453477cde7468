// Matches keys with patterns like those of a shell.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// "cat/*", "{train,val}/00[0-4]?": `*` matches any characters, also `/`; `?` matches one (of UTF-8); `[a-z]` and
/// `[!a-z]` match one ASCII character in or outside the set; braces are alternatives (expand_braces). Everything else
/// is literal.
class KeyPattern {
 public:
  /// Throws Error: invalid_argument, for too many alternatives (expand_braces).
  explicit KeyPattern(std::string_view pattern);
  bool matches(std::string_view key) const;

 private:
  std::vector<std::string> alternatives_;
};

}  // namespace penstock
