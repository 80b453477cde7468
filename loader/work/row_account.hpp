// Explains one row of a batch: its sample, where its bytes lie, and what every random draw came to.
#pragma once

#include <penstock/dataset.hpp>
#include <penstock/explain.hpp>
#include <transforms/output.hpp>
#include <transforms/program/program.hpp>

namespace penstock {

struct Windows;  // order/windows/windows.hpp

/// Reads the sample's fields anew. Throws Error, with dataset, shard, key, field and offset, for what a loader would
/// raise. `windows`: of the program; null where it has none.
RowAccount account_for(const Dataset& dataset, const Program& program, const SampleContext& sample,
                       const Windows* windows = nullptr);

}  // namespace penstock
