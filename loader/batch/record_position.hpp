// The position of a batch that is built.
#pragma once

#include <loader/batch/batch_record.hpp>
#include <order/position.hpp>

namespace penstock {

inline Position position_of(const BatchRecord& record) {
  return {.seed = record.seed,
          .shuffle_block = record.shuffle_block,
          .epoch = record.epoch,
          .start = record.start,
          .batch = record.number,
          .carried = record.carried,
          .composed = record.composed};
}

}  // namespace penstock
