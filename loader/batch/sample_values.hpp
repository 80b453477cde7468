// Reads some fields of all samples in order, without decoding, from the batches of a loader.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include <penstock/batch.hpp>
#include <penstock/dataset.hpp>
#include <penstock/options.hpp>

namespace penstock {

/// Returns the options of a loader that reads these fields of all samples.
LoaderOptions reading(const Dataset& dataset, std::span<const std::uint32_t> fields);
/// Calls `take` for every sample of the batches that `next` returns. `next` must belong to a loader with the options
/// of reading().
void for_each_row(const Dataset& dataset, std::span<const std::uint32_t> fields,
                  const std::function<std::optional<Batch>()>& next,
                  const std::function<void(const SampleValues&)>& take);
/// Calls `take` with every sample's key, without values. Calls `tick` regularly.
void for_each_key(const Dataset& dataset, const std::function<void(const SampleValues&)>& take,
                  const std::function<void()>& tick = {});

}  // namespace penstock
