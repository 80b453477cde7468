#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <formats/folder/archives.hpp>
#include <formats/folder/folder_names.hpp>
#include <formats/folder/folder_walk.hpp>

namespace penstock {
namespace {

bool is_archive(std::string_view path) {
  static constexpr std::array<std::string_view, 10> kEndings{".tar", ".tgz",     ".tar.gz", ".h5",  ".hdf5",
                                                             ".mds", ".parquet", ".arrow",  ".zip", "/data.mdb"};
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (name.find(".tfrec") != std::string_view::npos) return true;
  // At the top level, `pack` has its own rules for a folder of compressed tars.
  const bool compressed = name.ends_with("gz");
  if (compressed && name == path) return false;
  const auto* ending = std::ranges::find_if(kEndings, [&](std::string_view known) { return path.ends_with(known); });
  if (ending == kEndings.end()) return false;
  return *ending != ".zip" || name == path;  // in class folders they are values
}

}  // namespace

std::optional<std::filesystem::path> archive_without_media(const std::filesystem::path& folder) {
  bool media = false;
  std::string first;
  FolderVisitor visitor;
  visitor.file = [&](std::string_view path, std::uint64_t) {
    media = media || is_media(split_file_name(path).extension);
    if (is_archive(path) && (first.empty() || path < first)) first = path;
  };
  visitor.done = [&] { return media; };
  walk_folder(folder, visitor);
  if (media || first.empty()) return std::nullopt;
  return first;
}

}  // namespace penstock
