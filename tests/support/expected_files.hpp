// Real files for tests, and what independent readers found in them: EXPECTED.tsv of the folder PENSTOCK_TEST_DATA
// names.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "support/skip.hpp"

namespace penstock::test {

/// One line of the table. A file has one for each reader.
struct ExpectedFile {
  std::filesystem::path path;
  std::string name;     ///< path in the folder: "npy/numpy/x.npy"
  std::string reader;   ///< "laspy"
  std::string outcome;  ///< "ok", "error", ...
  std::string facts;    ///< "points=10 min=(...)", as the reader's line has them

  /// What follows `label` in the facts; "" where they do not tell.
  std::string fact(std::string_view label) const {
    const std::size_t at = facts.find(label);
    return at == std::string::npos ? "" : facts.substr(at + label.size());
  }
};

/// Those whose names begin so; none, and a message, where there is no such folder.
inline std::vector<ExpectedFile> expected_files(std::string_view beginning) {
  const char* data = std::getenv("PENSTOCK_TEST_DATA");
  const std::filesystem::path root = data == nullptr ? "" : data;
  std::vector<ExpectedFile> files;
  std::ifstream table(root / "EXPECTED.tsv");
  if (data == nullptr || !table) penstock::test::skip("PENSTOCK_TEST_DATA names no folder with EXPECTED.tsv");
  for (std::string line; data != nullptr && std::getline(table, line);) {
    std::istringstream columns(line);
    ExpectedFile file;
    std::getline(columns, file.name, '\t'), std::getline(columns, file.reader, '\t');
    std::getline(columns, file.outcome, '\t'), std::getline(columns, file.facts);
    file.path = root / file.name;
    if (file.name.starts_with(beginning) && std::filesystem::is_regular_file(file.path)) files.push_back(file);
  }
  return files;
}

}  // namespace penstock::test
