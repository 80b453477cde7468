// Finds real files for tests, in the folder that PENSTOCK_TEST_DATA names.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/skip.hpp"

namespace test {

inline std::vector<std::byte> read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

/// The regular files under a folder of the test data, sorted; none, and a message, where there is no such folder.
inline std::vector<std::filesystem::path> data_files(const std::string& folder) {
  const char* root = std::getenv("PENSTOCK_TEST_DATA");
  std::vector<std::filesystem::path> files;
  if (root == nullptr || !std::filesystem::is_directory(std::filesystem::path(root) / folder)) {
    penstock::test::skip("no test data in PENSTOCK_TEST_DATA/" + folder);
    return files;
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(std::filesystem::path(root) / folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace test
