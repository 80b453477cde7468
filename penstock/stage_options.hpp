// The options of staging, and what it tells.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include <penstock/storage.hpp>

namespace penstock {

class ReadEngine;  // storage/read/read_engine.hpp

/// Which copies are read again, past the page cache, and compared with what was written.
enum class StageVerify : std::uint8_t {
  unless_known,  ///< those whose checksum penstock.json does not tell
  always,
  never,  ///< nothing is compared, neither with penstock.json
};

struct StageOptions {
  unsigned workers = 0;                       ///< threads that check and write; 0: usable cores, 8 at most
  EngineKind engine = EngineKind::automatic;  ///< automatic: io_uring, and pread threads where it cannot be had
  bool overwrite = false;  ///< copy everything anew, and replace what stands at the destination when that is done
  StageVerify verify = StageVerify::unless_known;
  /// A file's copy goes on at a multiple of these; and small files are put in place by no more than these at once.
  std::uint64_t checkpoint_bytes = std::uint64_t{1} << 30;
  /// Stands between the engine and who asks it: for tests. Null: the engine itself.
  std::function<std::unique_ptr<ReadEngine>(const std::function<std::unique_ptr<ReadEngine>(OnRead)>& make, OnRead)>
      wrap_engine = {};
};

struct StageProgress {
  std::uint64_t files, total_files;  ///< done, kept ones included
  std::uint64_t bytes, total_bytes;  ///< of all files: kept, or written and checked
  std::uint64_t copied_bytes;        ///< of `bytes`, those that were not there
  bool waiting;                      ///< for another process that stages to the same destination
};

struct StageResult {
  std::filesystem::path opens;  ///< what to open: the destination, or a pattern in it where the source is a pattern
  std::uint64_t files = 0, bytes = 0;            ///< of the whole copy
  std::uint64_t kept_files = 0, kept_bytes = 0;  ///< of those, the ones that were there
  double seconds = 0;
  EngineKind engine = EngineKind::automatic;  ///< automatic where nothing had to be read
  std::string engine_reason;
  double mb_per_s() const { return seconds > 0 ? static_cast<double>(bytes - kept_bytes) / 1e6 / seconds : 0; }
};

}  // namespace penstock
