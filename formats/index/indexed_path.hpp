// Names the files that an index refers to.
#pragma once

#include <filesystem>
#include <string>

namespace penstock {

/// Returns `file` relative to the folder `root` if it is inside, else absolute. Returns the file's own name if `root`
/// is the file.
inline std::string indexed_path(const std::filesystem::path& file, const std::filesystem::path& root) {
  const std::filesystem::path relative = file.lexically_relative(root);
  if (relative == ".") return file.filename().string();
  if (relative.empty() || *relative.begin() == "..") return std::filesystem::absolute(file).string();
  return relative.string();
}

}  // namespace penstock
