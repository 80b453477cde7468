// Names files in messages.
#pragma once

#include <filesystem>
#include <string>

namespace penstock {

/// Returns `file` relative to the folder `root` if it is inside, else `file`. Returns the file's own name if `root` is
/// the file. Compares the texts: "./a.tar" is inside ".".
inline std::string shown_path(const std::filesystem::path& file, const std::filesystem::path& root) {
  const std::filesystem::path relative = file.lexically_normal().lexically_relative(root.lexically_normal());
  if (relative == ".") return file.filename().string();
  return relative.empty() || *relative.begin() == ".." ? file.string() : relative.string();
}

}  // namespace penstock
