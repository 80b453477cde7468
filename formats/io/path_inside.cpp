#include <algorithm>
#include <string>

#include <formats/io/path_inside.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

template <typename Accept>
bool every_part(std::string_view path, const Accept& accept) {
  if (path.find('\0') != std::string_view::npos) return false;  // the system would see a shorter path
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    if (!accept(path.substr(begin, end - begin))) return false;
    begin = end + 1;
  }
  return true;
}

}  // namespace

bool is_inside(std::string_view path) {
  return every_part(path, [](std::string_view part) { return !part.empty() && part != "." && part != ".."; });
}

bool is_inside_and_visible(std::string_view path) {
  return every_part(path, [](std::string_view part) { return !part.empty() && part.front() != '.'; });
}

std::filesystem::path path_inside(const std::filesystem::path& folder, std::string_view path) {
  if (!is_inside(path)) throw Error::corrupt("the index points outside the dataset: " + std::string(path));
  return folder / path;
}

}  // namespace penstock
