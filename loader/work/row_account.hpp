// Explains one row of a batch: its sample, where its bytes are stored, and the result of every random draw.
#pragma once

#include <penstock/dataset.hpp>
#include <penstock/explain.hpp>
#include <transforms/output.hpp>
#include <transforms/program/program.hpp>

namespace penstock {

struct Windows;  // order/windows/windows.hpp

/// Reads the sample's fields again. Throws Error, with dataset, shard, key, field and offset, in the same cases as a
/// loader. `windows` belongs to the program; null if it has none.
RowAccount account_for(const Dataset& dataset, const Program& program, const SampleContext& sample,
                       const Windows* windows = nullptr);

}  // namespace penstock
