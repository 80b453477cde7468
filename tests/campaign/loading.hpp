// Loads a dataset as programs do, with any options, and compares the rows with those of an untouched dataset.
#pragma once

#include <optional>
#include <string>

#include "campaign/kinds.hpp"
#include "campaign/mutation.hpp"

namespace penstock::campaign {

/// Any engine, number of workers, order, error policy, cache, rank and limits; always kSeed.
LoaderOptions draw_options(const Dataset& dataset, const Variant& variant, Draws& draws);
std::string to_string(const LoaderOptions& options);

/// What a program does with a loader: takes batches, jumps, saves, restores, ends early, asks for statistics beside.
struct Life {
  std::uint64_t batches = ~std::uint64_t{0};  ///< taken before the loader ends
  bool restores = false, rebuilds = false, watched = false;
  unsigned tries = 1;  ///< calls of next() after one that threw
};
Life draw_life(Draws& draws);

/// Lives that life. Rows that count and that `expected` has otherwise, or not at all, are described; nothing where
/// there are none, or `expected` is null. `delivered` counts rows that count. Throws what the loader throws.
std::optional<std::string> live(Loader& loader, const Life& life, const Rows* expected, std::uint64_t& delivered);

/// Loads everything in the plainest way and compares it.
std::optional<std::string> compare_all(const Dataset& dataset, const Variant& variant);

}  // namespace penstock::campaign
