// Lists and removes the entries of a folder. The iterators of std::filesystem, and functions based on them (remove_all,
// is_empty), abort the process if memory is refused: libstdc++ allocates inside functions that must not throw.
#pragma once

#include <filesystem>
#include <functional>

#include <formats/io/descriptor.hpp>

namespace penstock {

/// Calls `visit` with each name in the folder except "." and "..", in no particular order, until it returns false. The
/// name is valid during the call. Throws Error: io, with the folder.
void visit_names(const std::filesystem::path& folder, const std::function<bool(const char* name)>& visit);
/// Lists an open folder, even if another folder has its path by now. `path` is for messages.
void visit_names(const Descriptor& folder, const std::filesystem::path& path,
                 const std::function<bool(const char* name)>& visit);

/// Throws Error: io.
bool is_empty_folder(const std::filesystem::path& folder);

/// Removes a file, a link but not its target, or a folder with its contents. Does nothing if `path` does not exist.
/// Throws Error: io, with the path that cannot be removed.
void remove_tree(const std::filesystem::path& path);

}  // namespace penstock
