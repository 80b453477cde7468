// Names the files that an index points into.
#pragma once

#include <filesystem>
#include <string>

namespace penstock {

/// `file` relative to the folder `root` when it lies inside, else absolute; the file's own name when `root` is the
/// file.
inline std::string indexed_path(const std::filesystem::path& file, const std::filesystem::path& root) {
  const std::filesystem::path relative = file.lexically_relative(root);
  if (relative == ".") return file.filename().string();
  if (relative.empty() || *relative.begin() == "..") return std::filesystem::absolute(file).string();
  return relative.string();
}

}  // namespace penstock
