// The options of staging.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include <penstock/loader/read/read_engine.hpp>

namespace penstock {

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

}  // namespace penstock
