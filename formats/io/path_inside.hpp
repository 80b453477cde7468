// Checks that paths which files contain stay inside the dataset. No other code decides this.
#pragma once

#include <filesystem>
#include <string_view>

namespace penstock {

/// Returns whether the spelling of `path` stays inside its starting folder: the path is relative, and no part is empty,
/// "." or "..". Links inside a dataset are followed wherever they lead, as in a walk of the folder.
bool is_inside(std::string_view path);

/// Additionally requires that no part is hidden, so that a walk of the folder reaches the path.
bool is_inside_and_visible(std::string_view path);

/// `folder` / `path`. Throws Error: corrupt, unless is_inside(path).
std::filesystem::path path_inside(const std::filesystem::path& folder, std::string_view path);

}  // namespace penstock
