// Visits a folder's files, also those behind symbolic links.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

#include <formats/io/file_identity.hpp>

namespace penstock {

struct FolderVisitor {
  std::function<void(std::string_view path, std::uint64_t size)> file;  ///< a regular file
  std::function<void(std::string_view path)> folder;
  std::function<void(std::string_view path, const FileIdentity& file)> identity =
      {};                                                      ///< of the same file, before `file`
  std::function<void(std::string_view path)> own_folder = {};  ///< one that is_own_folder() recognises; not entered
  std::function<bool()> done = {};                             ///< ends the walk once it returns true
  bool own_files = false;                                      ///< penstock's own files and folders are visited, too
};

/// Calls `visitor` for everything below `root` in no particular order, with paths relative to it. Hidden names,
/// penstock's own files (unless `own_files`) and what is neither a file nor a folder are passed over. Throws Error: io,
/// naming what cannot be read (a folder, a link to nothing); unsupported, naming a symbolic link that leads back into a
/// folder above it.
void walk_folder(const std::filesystem::path& root, const FolderVisitor& visitor);

}  // namespace penstock
