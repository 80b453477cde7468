// The options, progress and result of staging.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <penstock/storage.hpp>

namespace penstock {

class ReadEngine;  // storage/read/read_engine.hpp

/// The copies that stage() reads again, without the page cache, and compares with the bytes written.
enum class StageVerify : std::uint8_t {
  unless_known,  ///< copies whose checksum penstock.json does not contain
  always,
  never,  ///< nothing is compared, not even with penstock.json
};

/// The options of stage().
struct StageOptions {
  unsigned workers = 0;                       ///< threads that check and write; 0: usable cores, 8 at most
  EngineKind engine = EngineKind::automatic;  ///< automatic: io_uring, or pread threads if it is not available
  bool overwrite = false;                     ///< copy everything again, then replace the existing destination
  StageVerify verify = StageVerify::unless_known;
  /// Time limit for comparing and copying, from the call on. Files that are not copied in time become symbolic links to
  /// the source, so the copy is complete either way. Nothing: no limit.
  std::optional<std::chrono::duration<double>> within = {};
  /// Distance of checkpoints: an interrupted file resumes at a multiple of this. Small files are also published in
  /// groups of at most this size.
  std::uint64_t checkpoint_bytes = std::uint64_t{1} << 30;
  /// For tests: wraps the engine. Null: the engine itself.
  std::function<std::unique_ptr<ReadEngine>(const std::function<std::unique_ptr<ReadEngine>(OnRead)>& make, OnRead)>
      wrap_engine = {};
};

/// The progress of stage().
struct StageProgress {
  std::uint64_t files, total_files;  ///< done, including files that were kept
  std::uint64_t bytes, total_bytes;  ///< of all files: kept, or written and checked
  std::uint64_t copied_bytes;        ///< the part of `bytes` that this call copied
  bool waiting;                      ///< another process stages to the same destination, and this one waits for it
};

/// The result of stage().
struct StageResult {
  std::filesystem::path opens;                       ///< path to open: the destination, or a pattern in it
  std::uint64_t files = 0, bytes = 0;                ///< of the whole copy
  std::uint64_t kept_files = 0, kept_bytes = 0;      ///< the part of these that existed before
  std::uint64_t linked_files = 0, linked_bytes = 0;  ///< the part that are links; see within
  double seconds = 0;
  EngineKind engine = EngineKind::automatic;  ///< automatic if nothing had to be read
  std::string engine_reason;
  std::uint64_t copied_files() const { return files - kept_files - linked_files; }
  std::uint64_t copied_bytes() const { return bytes - kept_bytes - linked_bytes; }
  double mb_per_s() const { return seconds > 0 ? static_cast<double>(copied_bytes()) / 1e6 / seconds : 0; }
};

}  // namespace penstock
