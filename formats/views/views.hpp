// Makes datasets of others: some of their samples, in another order, of several one behind the other. What is made is a
// Dataset like any other, shares the indexes, and copies no sample.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <penstock/formats/dataset.hpp>

namespace penstock {

/// The samples at those positions of the dataset, in the list's order; `about` says in words how they were chosen.
/// Throws Error: invalid_argument, naming `about`, where the list is empty.
Dataset choose(const Dataset& dataset, const SampleList& positions, const std::string& about);

/// The first `count` samples; all, where there are fewer. Throws Error: invalid_argument, where that is none.
Dataset take(const Dataset& dataset, std::uint64_t count);
/// All but the first `count` samples. Throws Error: invalid_argument, where that is none.
Dataset skip(const Dataset& dataset, std::uint64_t count);

/// The samples of all datasets, of any packings, one behind the other. Fields of one name become one; where the
/// datasets say different things of it, each value speaks for itself, as among the shards of one dataset. A dataset may
/// come twice, and so may keys. Throws Error: invalid_argument, for no dataset, and where class names differ: of those
/// that have any, all must have the same in the same order.
Dataset concatenated(std::span<const Dataset> datasets);

}  // namespace penstock
