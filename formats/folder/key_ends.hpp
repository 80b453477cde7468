// Decides where keys end in names that have words between dots: "0001.seg.png", "John.Smith.jpg".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

struct KeyEnds {
  std::vector<std::uint32_t> lengths;  ///< the length of each path's key
  /// "last_dot" if some word became part of a key, "first_dot" if all words belong to fields, empty if no name has a
  /// word.
  std::string rule;
};

/// Applies the table in docs/formats.md, "Dots in names". Each path must have an extension. `option` is
/// OpenOptions::key. Throws Error: invalid_argument, with the option, if the names allow two readings.
KeyEnds key_ends(const std::vector<std::string_view>& paths, std::string_view option);

}  // namespace penstock
