// A shard that has all of its samples, and the remaining work to complete it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include <formats/packed/manifest.hpp>
#include <formats/writer.hpp>

namespace penstock {

struct FilledShard {
  std::unique_ptr<ShardWriter> writer;
  std::string name;           ///< of its file or folder
  std::uint64_t samples = 0;  ///< passed to the writer
  std::uint64_t bytes = 0;    ///< approximate
  std::uint64_t skipped = 0;  ///< lines of the report of samples left out when the last sample was added
  std::uint64_t source = 0;   ///< Journal::source
  bool last = false;          ///< true if penstock.json follows at once, and with it the fsync of the folder
  bool in_store = false;      ///< after completion: its file is already an object
};

/// Writes the rest of the shard and its index durably into `folder`, and destroys its writer. Uses only the shard and
/// its files, so any thread may call it. Throws Error: io; corrupt.
ManifestShard complete(const std::filesystem::path& folder, FilledShard& shard);

}  // namespace penstock
