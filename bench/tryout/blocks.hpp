// Measures on some samples how much a block shuffle would save if neighbours share compressed blocks (HDF5 chunks).
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
  std::uint64_t shuffle_block = 0;  ///< number of samples that share a block
  double undone = 0, wanted = 0;    ///< blocks per sample: as recorded, and with the block shuffle
  double seconds = 0;               ///< to read and decompress a block on one core
  /// The demands of samples with this block shuffle.
  Demands of(Demands demands) const;
};

/// Returns nothing if blocks are rarely decompressed more than once. Reads neighbouring samples, for at most
/// `limits.seconds`. Throws Error: io, corrupt, as reading does; resource, "interrupted".
std::optional<BlockTryout> tried_blocks(const Dataset& dataset, const Program& program, const Stats& stats,
                                        std::uint64_t seed, const HeldLimits& limits);

Gain gain_of(const BlockTryout& blocks, const Forecast& forecast);

}  // namespace penstock
