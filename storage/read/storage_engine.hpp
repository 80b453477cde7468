// Makes an engine over plain files, for a caller that reads them from beginning to end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include <formats/io/file_identity.hpp>
#include <penstock/storage.hpp>
#include <storage/read/file_table.hpp>
#include <storage/read/read_engine.hpp>

namespace penstock {

/// Files by number, in the form that an engine requires.
struct EngineFiles {
  std::uint32_t count = 0;
  std::function<DataFile(std::uint32_t)> lookup;  ///< for [0, count); any thread may call it; the engine keeps it
  std::filesystem::path root = {};                ///< messages name files relative to this folder
  std::function<void(std::uint32_t, const FileIdentity&)> check = {};  ///< as in FileTableOptions
  bool random_access = false;  ///< disables the kernel's read-ahead in engines that wait for storage
  FileTable* probed = nullptr;  ///< null, or a table of open files, which the engine takes if it opens files likewise
};

/// Returns the engine that `options` or PENSTOCK_ENGINE names; otherwise io_uring or, if it is refused, pread threads.
/// Does not probe the page cache. Throws as choose_engine().
ChosenEngine choose_storage_engine(const EngineFiles& files, const EngineOptions& options, const OnRead& on_read);

}  // namespace penstock
