// Checks that paths which files name stay inside the dataset. No other code decides that.
#pragma once

#include <filesystem>
#include <string_view>

namespace penstock {

/// `path` stays inside the folder it starts from, by its spelling: it is relative, and none of its parts is empty, "."
/// or "..". Links are another matter: those that lie in a dataset are followed, wherever they lead, as walking the
/// folder does.
bool is_inside(std::string_view path);

/// Besides, no part of it is hidden: a walk of the folder comes there.
bool is_inside_and_visible(std::string_view path);

/// `folder` / `path`. Throws Error: corrupt, unless is_inside(path).
std::filesystem::path path_inside(const std::filesystem::path& folder, std::string_view path);

}  // namespace penstock
