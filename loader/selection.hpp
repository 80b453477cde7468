// Which samples an epoch delivers: all, or those that have every requested field.
#pragma once

#include <cstdint>
#include <vector>

#include <penstock/formats/dataset.hpp>
#include <penstock/loader/options.hpp>
#include <penstock/transforms/program.hpp>

namespace penstock {

struct Selection {
  std::vector<std::uint64_t> included;  ///< sample numbers; empty: all samples
  std::uint64_t samples = 0;            ///< that an epoch delivers
  std::uint64_t excluded = 0;
};

/// Those of `subset` where that is given. Looks at the samples one by one only where some field is not complete.
/// Throws Error: invalid_argument, naming the first sample that lacks a field, unless `missing` excludes such samples,
/// or when nothing is left.
Selection select_samples(const Dataset& dataset, const Program& program, const LoaderOptions& options);

/// Samples per block of a block shuffle: the option's where it is set; else a full shuffle for extents, and for
/// datasets of shared filtered blocks the samples that one block holds.
std::uint64_t shuffle_block(const Dataset& dataset, const LoaderOptions& options);

}  // namespace penstock
