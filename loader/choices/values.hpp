// Reads the values of some fields of all samples, in order, for choices that are made by them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include <formats/column.hpp>
#include <formats/lists/number_table.hpp>
#include <penstock/dataset.hpp>

namespace penstock {

/// Calls `take` with every sample in order, in the calling thread; a loader with as many workers as there are cores
/// reads ahead. `tick` is called now and then, and ends the pass by throwing. Throws what reading throws, and what they
/// throw.
void for_each_sample(const Dataset& dataset, std::span<const std::uint32_t> fields,
                     const std::function<void(const SampleValues&)>& take, const std::function<void()>& tick = {});

/// The column's number of each sample, as the bits of a double (std::bit_cast). Throws what for_each_sample and
/// Column::number throw.
std::shared_ptr<NumberTable> column_numbers(const Dataset& dataset, const Column& column,
                                            const std::function<void()>& tick = {});

}  // namespace penstock
