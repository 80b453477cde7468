#include "classes.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>

#include <penstock/error.hpp>

#include "open.hpp"

namespace penstock::cli {
namespace {

bool is_text(const std::filesystem::path& path) {
  const auto extension = path.extension();
  return std::filesystem::is_regular_file(path) && (extension == ".txt" || extension == ".csv" || extension.empty());
}

}  // namespace

std::vector<std::string> read_classes(const std::string& from) {
  std::vector<std::string> names;
  if (is_text(from)) {
    std::ifstream file(from);
    if (!file) throw Error::io(errno, "cannot read " + from);
    for (std::string line; std::getline(file, line);) {
      if (!line.empty() && line.back() == '\r') line.pop_back();
      if (!line.empty()) names.push_back(line);
    }
  } else {
    const Dataset dataset = open_with_progress(from);
    names.assign(dataset.classes().begin(), dataset.classes().end());
  }
  if (names.empty()) throw Error::invalid_argument(from + " contains no names of classes");
  return names;
}

}  // namespace penstock::cli
