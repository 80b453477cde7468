// Selects the samples that an epoch delivers: all, those of `subset`, or those that have every requested field.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <penstock/formats/dataset.hpp>
#include <penstock/loader/options.hpp>
#include <penstock/transforms/program/program.hpp>

namespace penstock {

/// The list of samples that an epoch delivers, in its unshuffled order.
struct Selection {
  std::vector<std::uint64_t> included = {};     ///< sample numbers; empty: all samples, in the dataset's order
  std::vector<std::uint32_t> occurrences = {};  ///< of each, how often it stands in the list before; empty: never
  std::uint64_t samples = 0;                    ///< that an epoch delivers
  std::uint64_t excluded = 0;

  std::uint64_t sample(std::uint64_t position) const { return included.empty() ? position : included[position]; }
  std::uint32_t occurrence(std::uint64_t position) const { return occurrences.empty() ? 0 : occurrences[position]; }
  /// Of the list; nothing for all samples in the dataset's order.
  std::optional<std::uint64_t> fingerprint() const;
};

/// Those of `subset` where that is given. Looks at the samples one by one only where some field is not complete.
/// Throws Error: invalid_argument, for a subset that is empty or names a sample that is not there; naming the first
/// sample that lacks a field, unless `missing` excludes such samples; or when nothing is left.
Selection select_samples(const Dataset& dataset, const Program& program, const LoaderOptions& options);

/// What a full shuffle costs where several samples share filtered blocks, and the option that cures it; empty where it
/// costs nothing worth a word, or where no full shuffle is asked for. An estimate from a few samples.
std::string cost_of_shuffle(const Dataset& dataset, const Program& program, const LoaderOptions& options,
                            const Selection& selection);

/// Samples per block of the block shuffle that version 1 of a loader's state means where shuffle_block was not given:
/// as many as share a filtered block; 0, a full shuffle, where none do.
std::uint64_t block_of_version_1(const Dataset& dataset);

}  // namespace penstock
