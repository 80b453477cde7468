// Reads some fields of all samples in order, for choices that depend on their values.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include <formats/column.hpp>
#include <formats/lists/number_table.hpp>
#include <penstock/dataset.hpp>

namespace penstock {

/// Calls `take` with every sample in order, in the calling thread. A loader with one worker per core reads ahead.
/// Calls `tick` regularly; an exception from it ends the pass. Throws what reading, `take` and `tick` throw.
void for_each_sample(const Dataset& dataset, std::span<const std::uint32_t> fields,
                     const std::function<void(const SampleValues&)>& take, const std::function<void()>& tick = {});

/// Returns the column's number of each sample, as the bits of a double (std::bit_cast). Throws what for_each_sample()
/// and Column::number throw.
std::shared_ptr<NumberTable> column_numbers(const Dataset& dataset, const Column& column,
                                            const std::function<void()>& tick = {});

}  // namespace penstock
