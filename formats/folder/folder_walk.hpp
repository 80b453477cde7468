// Callbacks for the files of a folder, also those reached through symbolic links.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

#include <formats/io/file_identity.hpp>

namespace penstock {

struct FolderVisitor {
  std::function<void(std::string_view path, std::uint64_t size)> file;  ///< called for a regular file
  std::function<void(std::string_view path)> folder;
  /// Called before `file`, for the same file.
  std::function<void(std::string_view path, const FileIdentity& file)> identity = {};
  /// Called for a folder that is_own_folder() recognises. The walk does not enter it.
  std::function<void(std::string_view path)> own_folder = {};
  std::function<bool()> done = {};  ///< the walk ends when it returns true
  bool own_files = false;           ///< also visits penstock's own files and folders
};

/// Calls `visitor` for everything below `root` in no particular order, with paths relative to `root`. Skips hidden
/// names, penstock's own files (unless `own_files`), and entries that are neither files nor folders. Throws Error: io,
/// with the path that cannot be read (a folder, a link to nothing); unsupported, with the symbolic link, if a link
/// leads back to a folder above it.
void walk_folder(const std::filesystem::path& root, const FolderVisitor& visitor);

}  // namespace penstock
