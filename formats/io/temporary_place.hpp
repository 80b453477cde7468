// Locates temporary files.
#pragma once

#include <cstdlib>
#include <string>

namespace penstock {

/// $TMPDIR, or /tmp.
inline std::string temporary_place() {
  const char* chosen = std::getenv("TMPDIR");
  return chosen == nullptr || *chosen == '\0' ? "/tmp" : chosen;
}

}  // namespace penstock
