// A finished batch on its way to next().
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include <penstock/loader/batch/batch.hpp>
#include <penstock/loader/batch/batch_builder.hpp>
#include <penstock/loader/batch/slab.hpp>

namespace penstock {

struct BatchResult {
  /// What became of a builder: its slab is lent out, or released where the batch failed.
  BatchResult(BatchBuilder& builder, const std::shared_ptr<SlabPool>& slabs, SlabPool::To to);

  std::uint64_t epoch;
  std::vector<BadSample> bad;
  std::uint64_t other_failures;
  std::exception_ptr failure;  ///< what next() throws in place of giving the batch
  Batch batch;                 ///< empty where it failed
  Journey journey;
};

}  // namespace penstock
