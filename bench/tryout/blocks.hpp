// Measures on some samples what a block shuffle would spare: filtered blocks (HDF5 chunks) that neighbours share.
#pragma once

#include <cstdint>
#include <optional>

#include <loader/model/demands.hpp>
#include <loader/model/gains.hpp>
#include <loader/model/tryout.hpp>
#include <penstock/dataset.hpp>
#include <penstock/gains.hpp>
#include <penstock/stats.hpp>
#include <transforms/program/program.hpp>

namespace penstock {

struct BlockTryout {
  std::uint64_t shuffle_block = 0;  ///< samples that share a block
  double undone = 0, wanted = 0;    ///< blocks for each sample: as it was recorded, and with the block shuffle
  double seconds = 0;               ///< to bring and undo one, on a core
  /// What samples would take of it.
  Demands of(Demands demands) const;
};

/// Nothing where blocks are hardly undone more often than once. Reads neighbouring samples, `limits.seconds` at most.
/// Throws Error: io, corrupt, as reading does; resource, "interrupted".
std::optional<BlockTryout> tried_blocks(const Dataset& dataset, const Program& program, const Stats& stats,
                                        std::uint64_t seed, const HeldLimits& limits);

Gain gain_of(const BlockTryout& blocks, const Forecast& forecast);

}  // namespace penstock
