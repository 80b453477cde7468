// Describes a library that is loaded when a program first asks for it.
#pragma once

#include <string>

namespace penstock {

struct LibraryFacts {
  std::string library;  ///< the file that was loaded; empty: none
  std::string version;  ///< "13.3.2"
  std::string problem;  ///< why there is none, in one line; empty where there is one
};

}  // namespace penstock
