// Compares keys with patterns as shells know them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// "cat/*", "{train,val}/00[0-4]?": `*` stands for any characters, also `/`; `?` for one (of UTF-8); `[a-z]`, `[!a-z]`
/// for one of those, or none of those, of ASCII; braces for alternatives (expand_braces). Everything else is itself.
class KeyPattern {
 public:
  explicit KeyPattern(std::string_view pattern);  ///< throws Error: invalid_argument, for millions of alternatives
  bool matches(std::string_view key) const;

 private:
  std::vector<std::string> alternatives_;
};

}  // namespace penstock
