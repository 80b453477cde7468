// Where a row of a batch comes from: its sample, the place of its bytes, and all random draws.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <penstock/account.hpp>
#include <penstock/mix.hpp>

namespace penstock {

struct OutputOrigin {
  OutputAccount account;
  std::string key = {};                 ///< of a step of a window: its sample
  std::uint32_t step = 0;               ///< and its place in the row
  bool inside = true;                   ///< false: the nearest of its group stands there
  std::string file;                     ///< inside the dataset
  std::optional<std::uint64_t> offset;  ///< bytes from its start; unknown for values that lie in no extent
  std::uint64_t length;                 ///< stored bytes
};

/// How a row was mixed with another one of its batch.
struct MixAccount {
  MixDraw draw;
  std::uint32_t partner;  ///< its row
  std::string partner_key;
};

struct RowAccount {
  std::string key;
  std::uint64_t sample, seed, epoch;
  std::uint32_t occurrence = 0;  ///< how often the sample comes before, in the loader's subset or in a mixture's epoch
  std::string source = {};       ///< its name, of a mixture
  std::optional<MixAccount> mix = {};
  std::vector<OutputOrigin> outputs;  ///< without those that the sample has no field for; of a window, each step
};

}  // namespace penstock
