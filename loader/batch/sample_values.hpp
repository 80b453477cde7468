// Reads some fields of all samples from a loader's batches, undecoded and in order.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include <penstock/batch.hpp>
#include <penstock/dataset.hpp>
#include <penstock/options.hpp>

namespace penstock {

/// The options of a loader that reads these fields of all samples.
LoaderOptions reading(const Dataset& dataset, std::span<const std::uint32_t> fields);
/// Calls `take` with every sample of the batches that `next` returns; `next` belongs to a loader with such options.
void for_each_row(const Dataset& dataset, std::span<const std::uint32_t> fields,
                  const std::function<std::optional<Batch>()>& next,
                  const std::function<void(const SampleValues&)>& take);
/// Calls `take` with every sample's key, without values. `tick` is called now and then.
void for_each_key(const Dataset& dataset, const std::function<void(const SampleValues&)>& take,
                  const std::function<void()>& tick = {});

}  // namespace penstock
