// The beginning of a run of batches: seed, epoch, order and batch.
#pragma once

#include <cstdint>
#include <memory>

#include <order/plan.hpp>

namespace penstock {

/// The beginning of a run of batches.
struct Position {
  std::uint64_t seed = 0;
  std::uint64_t shuffle_block = 0;  ///< as in PlanOptions; a restored state may set these two
  std::uint64_t epoch = 0;
  std::uint64_t start = 0;  ///< position of batch 0 in the epoch's permutation
  std::uint64_t batch = 0;
  std::shared_ptr<const Carried> carried = {};  ///< of a mixture, as in PlanOptions
  BatchLimits composed = {};                    ///< the same, set by a restored state for its epoch only

  /// The beginning of another epoch, in the same order.
  Position first_of(std::uint64_t other) const {
    return {.seed = seed,
            .shuffle_block = shuffle_block,
            .epoch = other,
            .carried = carried,
            .composed = other == epoch ? composed : BatchLimits{}};
  }
  bool same_order(const Position& other) const {
    return seed == other.seed && shuffle_block == other.shuffle_block && epoch == other.epoch &&
           composed == other.composed && same(carried.get(), other.carried.get());
  }
  static bool same(const Carried* one, const Carried* other) {
    return one == other || (one != nullptr && other != nullptr && *one == *other);
  }
  /// The plan of the position's epoch; `options` contains everything else.
  Plan plan(PlanOptions options) const {
    options.seed = seed;
    options.shuffle_block = shuffle_block;
    options.carried = carried;
    options.composed = composed;
    return {options, epoch, start};
  }
};

}  // namespace penstock
