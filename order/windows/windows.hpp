// The windows of a loader: a table for each window of its chains, made from keys or from fields that say what belongs
// together.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <order/windows/window_table.hpp>
#include <penstock/chain.hpp>
#include <penstock/dataset.hpp>

namespace penstock {

class Mixture;

/// Constant, and shared by all that a loader is made of.
struct Windows {
  std::vector<std::shared_ptr<const WindowTable>> tables;  ///< by number, as windows_of() has them
};

/// Reads some fields of all samples, in order: for_each_sample(), which is a loader's consumer.
using ReadSamples =
    std::function<void(std::span<const std::uint32_t> fields, const std::function<void(const SampleValues&)>& take)>;

/// The windows of the chains; null where no chain has one. `mixture` may be null; a group of a mixture has samples of
/// one source. Throws Error: invalid_argument, for a field that does not exist, an invalid expression, or a sample that
/// is in no group; and what reading throws.
std::shared_ptr<const Windows> windows_for(const Dataset& dataset, std::span<const FieldChain> chains,
                                           const Mixture* mixture, const ReadSamples& read);

}  // namespace penstock
