// Selects the samples that an epoch delivers: all, those in `subset`, or those that have every requested field.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <order/buckets/bucketed_order.hpp>
#include <order/draws/draw_order.hpp>
#include <order/mixture/mixed_order.hpp>
#include <order/order_options.hpp>
#include <order/plan.hpp>
#include <penstock/dataset.hpp>
#include <transforms/program/program.hpp>

namespace penstock {

/// The list of samples that an epoch delivers, in its unshuffled order.
struct Selection {
  std::vector<std::uint64_t> included = {};     ///< sample numbers; empty: all samples, in the dataset's order
  std::vector<std::uint32_t> occurrences = {};  ///< for each, how many times it comes earlier in the list; empty: never
  std::uint32_t repeats = 1;                    ///< maximum number of times that a sample is in the list
  std::uint64_t listed = 0;                     ///< length of the list
  std::uint64_t samples = 0;  ///< samples that an epoch delivers: the length of the list, except for mixtures and draws
  std::uint64_t excluded = 0;
  std::shared_ptr<const DrawOrder> draws = {};   ///< null: each sample of the list comes once
  std::shared_ptr<const MixedOrder> mixed = {};  ///< of a mixture, whose sources' samples follow one after the other
  std::shared_ptr<const BucketedOrder> bucketed = {};  ///< for batches by length

  /// The sample with a number in the list.
  std::uint64_t sample(std::uint64_t number) const { return included.empty() ? number : included[number]; }
  /// `before`: how many times the number comes earlier in the epoch's order.
  std::uint32_t occurrence(std::uint64_t number, std::uint32_t before) const {
    return before * repeats + (occurrences.empty() ? 0 : occurrences[number]);
  }
  struct Range {
    std::uint64_t first, count;
  };
  /// Numbers of the samples that may replace this one: those of the same source.
  Range like(std::uint64_t number) const;
  /// Fingerprint of the list; nothing for all samples in the dataset's order.
  std::optional<std::uint64_t> fingerprint() const;
};

/// Selects the samples of `subset`, or all. Checks samples one by one only if some field is not complete. Throws Error:
/// invalid_argument, for a subset that is empty or contains an invalid sample number; for the first sample that lacks a
/// field, unless `missing` excludes such samples; and if no sample remains.
Selection select_samples(const Dataset& dataset, const Program& program, const OrderOptions& options);

/// The plan of an epoch that delivers this selection.
PlanOptions plan_options(const OrderOptions& options, const Selection& selection);

/// Describes the cost of a full shuffle whose samples share compressed blocks, and the option that avoids it. Empty if
/// the cost is low, or if there is no full shuffle. Estimated from a few samples. `block_cache_bytes`:
/// LoaderOptions::memory_options.block_cache_bytes.
std::string cost_of_shuffle(const Dataset& dataset, const Program& program, const OrderOptions& options,
                            std::uint64_t block_cache_bytes, const Selection& selection);

/// Samples per block of the block shuffle that version 1 of a loader's state implies if shuffle_block was not given:
/// the number of samples that share a compressed block; 0, a full shuffle, if none do.
std::uint64_t block_of_version_1(const Dataset& dataset);

}  // namespace penstock
