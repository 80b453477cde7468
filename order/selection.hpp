// Selects the samples that an epoch delivers: all, those of `subset`, or those that have every requested field.
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
  std::vector<std::uint32_t> occurrences = {};  ///< of each, how often it stands in the list before; empty: never
  std::uint32_t repeats = 1;                    ///< how often a sample stands in the list at most
  std::uint64_t listed = 0;                     ///< samples of the list
  std::uint64_t samples = 0;                    ///< that an epoch delivers: as many, but of a mixture or of draws
  std::uint64_t excluded = 0;
  std::shared_ptr<const DrawOrder> draws = {};   ///< null: each of the list comes once
  std::shared_ptr<const MixedOrder> mixed = {};  ///< of a mixture, whose sources' samples stand one behind the other
  std::shared_ptr<const BucketedOrder> bucketed = {};  ///< of batches by length

  /// Of a number in the list.
  std::uint64_t sample(std::uint64_t number) const { return included.empty() ? number : included[number]; }
  /// `before`: how often the epoch's order has the same number before.
  std::uint32_t occurrence(std::uint64_t number, std::uint32_t before) const {
    return before * repeats + (occurrences.empty() ? 0 : occurrences[number]);
  }
  struct Range {
    std::uint64_t first, count;
  };
  /// Numbers of the samples that may stand in this one's place: those of its source.
  Range like(std::uint64_t number) const;
  /// Of the list; nothing for all samples in the dataset's order.
  std::optional<std::uint64_t> fingerprint() const;
};

/// Those of `subset` where that is given. Looks at the samples one by one only where some field is not complete.
/// Throws Error: invalid_argument, for a subset that is empty or names a sample that is not there; naming the first
/// sample that lacks a field, unless `missing` excludes such samples; or when nothing is left.
Selection select_samples(const Dataset& dataset, const Program& program, const OrderOptions& options);

/// The plan of an epoch that delivers this selection.
PlanOptions plan_options(const OrderOptions& options, const Selection& selection);

/// What a full shuffle costs where several samples share filtered blocks, and the option that cures it; empty where it
/// costs nothing worth a word, or where no full shuffle is asked for. An estimate from a few samples.
/// `block_cache_bytes`: LoaderOptions::memory_options.block_cache_bytes.
std::string cost_of_shuffle(const Dataset& dataset, const Program& program, const OrderOptions& options,
                            std::uint64_t block_cache_bytes, const Selection& selection);

/// Samples per block of the block shuffle that version 1 of a loader's state means where shuffle_block was not given:
/// as many as share a filtered block; 0, a full shuffle, where none do.
std::uint64_t block_of_version_1(const Dataset& dataset);

}  // namespace penstock
