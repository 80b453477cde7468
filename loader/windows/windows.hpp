// The windows of a loader: a table for each window of its chains, made from keys or from fields that say what belongs
// together.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <penstock/formats/dataset.hpp>
#include <penstock/loader/choices/column.hpp>
#include <penstock/loader/options.hpp>
#include <penstock/loader/windows/window_table.hpp>

namespace penstock {

/// Constant, and shared by all that a loader is made of.
struct Windows {
  std::vector<std::shared_ptr<const WindowTable>> tables;  ///< by number, as windows_of() has them
};

/// Reads some fields of all samples, in order: for_each_sample(), which is a loader's consumer.
using ReadSamples =
    std::function<void(std::span<const std::uint32_t> fields, const std::function<void(const SampleValues&)>& take)>;

/// Null where no chain has a window. Groups of a mixture are of one source. Throws Error: invalid_argument, for fields
/// that are not there, expressions that are none, and samples that are in no group; what reading throws.
std::shared_ptr<const Windows> windows_for(const Dataset& dataset, const LoaderOptions& options,
                                           const ReadSamples& read);

}  // namespace penstock
