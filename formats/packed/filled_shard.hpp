// A shard that has all of its samples, and the work that is left until it is complete.
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
  std::uint64_t samples = 0;  ///< that the writer was given
  std::uint64_t bytes = 0;    ///< about
  std::uint64_t skipped = 0;  ///< lines of the report of samples left out when the last sample was added
  std::uint64_t source = 0;   ///< Journal::source
  bool last = false;          ///< penstock.json follows at once, and with it the folder is fsynced
  bool in_store = false;      ///< once complete: its file is an object already
};

/// Writes the rest of the shard and its index into `folder`, where all of it stays after a power cut, and ends its
/// writer. Uses nothing but the shard and its files, so any thread may do it. Throws Error: io; corrupt.
ManifestShard complete(const std::filesystem::path& folder, FilledShard& shard);

}  // namespace penstock
