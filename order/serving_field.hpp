// Finds the field of a sample that serves an output.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <formats/extent.hpp>
#include <penstock/dataset.hpp>
#include <transforms/output.hpp>

namespace penstock {

/// The field that serves an output of a sample: the first of its sources that the sample has; nothing if it has none.
std::optional<std::uint32_t> serving_field(const Dataset& dataset, const Output& output, std::uint64_t sample,
                                           std::vector<Piece>& pieces);

/// The field that fills a row of `outputs[output]`. Returns nothing also for a sample that lacks the field of an output
/// that this one needs, see Output::needed_leaders.
std::optional<std::uint32_t> filling_field(const Dataset& dataset, std::span<const Output> outputs,
                                           std::uint32_t output, std::uint64_t sample, std::vector<Piece>& pieces);

}  // namespace penstock
