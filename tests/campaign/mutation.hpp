// Damages the files of a dataset: any byte of any file, and lengths, order and identity of files.
#pragma once

#include <filesystem>
#include <random>
#include <string>

namespace penstock::campaign {

using Draws = std::mt19937_64;

inline std::uint64_t below(Draws& draws, std::uint64_t bound) {
  return bound == 0 ? 0 : draws() % bound;
}
inline bool one_in(Draws& draws, std::uint64_t n) {
  return below(draws, n) == 0;
}

/// Changes one file somewhere below `folder`, and says what it did. Of an index the checksums may be made right again,
/// which `forged` then says: the change is then a lie that no checksum tells.
std::string mutate(const std::filesystem::path& folder, Draws& draws, bool& forged);

}  // namespace penstock::campaign
