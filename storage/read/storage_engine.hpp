// Makes an engine over plain files, for a caller that reads them from end to end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include <formats/io/file_identity.hpp>
#include <penstock/storage.hpp>
#include <storage/read/read_engine.hpp>

namespace penstock {

/// Files by number, as an engine asks for them.
struct EngineFiles {
  std::uint32_t count = 0;
  std::function<DataFile(std::uint32_t)> lookup;  ///< of [0, count); called from any thread, kept by the engine
  std::filesystem::path root = {};                ///< messages name files relative to it
  std::function<void(std::uint32_t, const FileIdentity&)> check = {};  ///< as in FileTableOptions
  bool random_access = false;  ///< tells the kernel not to read ahead of waiting engines
};

/// The engine asked for, or by PENSTOCK_ENGINE; else io_uring, and pread threads where it cannot be had. Does not look
/// at what is in memory. Throws as choose_engine().
ChosenEngine choose_storage_engine(const EngineFiles& files, const EngineOptions& options, const OnRead& on_read);

}  // namespace penstock
