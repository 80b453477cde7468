// Describes a library that is loaded on first use.
#pragma once

#include <string>

namespace penstock {

struct LibraryFacts {
  std::string library;  ///< file that was loaded; empty: none
  std::string version;  ///< "13.3.2"
  std::string problem;  ///< why no library is loaded, in one line; empty if one is
};

}  // namespace penstock
