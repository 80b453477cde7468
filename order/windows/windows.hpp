// The windows of a loader. Each window of its chains has a table, made from keys or from fields that name the groups.
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

/// Constant, and shared by all parts of a loader.
struct Windows {
  std::vector<std::shared_ptr<const WindowTable>> tables;  ///< in the order of windows_of()
};

/// Reads some fields of all samples, in order. for_each_sample(), which uses a loader, implements it.
using ReadSamples =
    std::function<void(std::span<const std::uint32_t> fields, const std::function<void(const SampleValues&)>& take)>;

/// The windows of the chains; null if no chain has one. `mixture` may be null. In a mixture, the samples of a group
/// belong to one source. Throws Error: invalid_argument, for a field that does not exist, an invalid expression, or a
/// sample that is in no group; also the errors of reading.
std::shared_ptr<const Windows> windows_for(const Dataset& dataset, std::span<const FieldChain> chains,
                                           const Mixture* mixture, const ReadSamples& read);

}  // namespace penstock
