// The origin of a row of a batch: its sample, the location of its bytes, and all random draws.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <penstock/account.hpp>
#include <penstock/mix.hpp>

namespace penstock {

/// The origin of one output of a row: its field, file and bytes, and the decisions of its chain.
struct OutputOrigin {
  OutputAccount account;
  std::string key = {};    ///< for a step of a window: the key of its sample
  std::uint32_t step = 0;  ///< position of the step in the row
  bool inside = true;  ///< false: the step is outside its group, and the row contains the group's nearest step instead
  std::string file;    ///< inside the dataset
  std::optional<std::uint64_t> offset;  ///< bytes from the start of the file; unset for values without an extent
  std::uint64_t length;                 ///< stored bytes
};

/// How a row was mixed with another one of its batch.
struct MixAccount {
  MixDraw draw;
  std::uint32_t partner;  ///< row number of the other row
  std::string partner_key;
};

/// The origin of one row, as Loader::explain() returns it.
struct RowAccount {
  std::string key;
  std::uint64_t sample, seed, epoch;
  /// how many times the sample comes earlier in the loader's subset, or in the epoch of a mixture
  std::uint32_t occurrence = 0;
  std::string source = {};  ///< name of the source in a mixture
  std::optional<MixAccount> mix = {};
  /// without outputs whose field the sample lacks; for a window, one entry per step
  std::vector<OutputOrigin> outputs;
};

}  // namespace penstock
