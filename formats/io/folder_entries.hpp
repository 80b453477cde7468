// What lies in a folder, and its removal. The iterators of std::filesystem, and what is made of them (remove_all,
// is_empty), end the process where memory is refused: libstdc++ takes memory inside functions that must not throw.
#pragma once

#include <filesystem>
#include <functional>

#include <formats/io/descriptor.hpp>

namespace penstock {

/// Calls `visit` with each name in the folder but "." and "..", in no order, until it returns false. The name is valid
/// during the call. Throws Error: io, naming the folder.
void visit_names(const std::filesystem::path& folder, const std::function<bool(const char* name)>& visit);
/// The same of a folder that is open, whatever its path leads to by now; `path` is for messages.
void visit_names(const Descriptor& folder, const std::filesystem::path& path,
                 const std::function<bool(const char* name)>& visit);

/// Throws Error: io.
bool is_empty_folder(const std::filesystem::path& folder);

/// Removes a file, a link but not what it leads to, or a folder with all that it holds; nothing where nothing is.
/// Throws Error: io, naming what cannot be removed.
void remove_tree(const std::filesystem::path& path);

}  // namespace penstock
