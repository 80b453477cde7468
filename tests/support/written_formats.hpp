// The packings that shards are written in.
#pragma once

#include <string>
#include <vector>

#include <formats/format.hpp>

namespace penstock::test {

/// Every packing that `pack` writes.
inline std::vector<std::string> written_formats() {
  std::vector<std::string> names;
  for (const Format& format : formats()) {
    if (format.write != nullptr) names.emplace_back(format.name);
  }
  return names;
}

}  // namespace penstock::test
