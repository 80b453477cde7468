// Saves the position of a loader, in a form that is small enough for every checkpoint.
//
//   penstock::Loader loader(penstock::open("photos"));
//   const std::string saved = loader.state().to_json();
//   loader.restore(penstock::LoaderState::from_json(saved));
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <penstock/order.hpp>

namespace penstock {

/// What the order of an epoch is made of beside dataset, seed and epoch.
struct SavedOrder {
  bool shuffle = false;
  std::uint64_t shuffle_block = 0;           ///< 0: none
  std::uint64_t shuffle_window = 0;          ///< 0: none
  bool block_of_version_1 = false;           ///< the block is not the loader's own, but what a state of version 1 meant
  std::optional<std::uint64_t> subset = {};  ///< fingerprint of the epoch's list of samples; nothing: all of them
  Last last = Last::keep;
  std::optional<SavedDraws> draws = {};
  friend bool operator==(const SavedOrder&, const SavedOrder&) = default;
};

struct SavedSource {
  std::string name;
  std::uint64_t dataset = 0;  ///< fingerprint of the samples that a pass over it has
  std::uint64_t samples = 0;
  std::uint64_t weight = 0;  ///< parts of about 2^32
  std::uint64_t before = 0;  ///< samples that it gave before epoch `since`
  std::uint64_t taken = 0;   ///< and until now
  friend bool operator==(const SavedSource&, const SavedSource&) = default;
};

/// What the order of a mixture is made of beside that.
struct SavedMixture {
  Sampling sampling = Sampling::shares;
  std::uint64_t schedule = 0;  ///< fingerprint of when which weights come; 0: no schedule
  std::uint64_t since = 0;     ///< epoch from which on it has these sources and weights
  std::vector<SavedSource> sources = {};
  friend bool operator==(const SavedMixture&, const SavedMixture&) = default;
};

/// Describes how the order of a saved mixture differs from that of `own`; empty if it does not. The number of samples
/// that the sources have given makes no difference.
std::string difference(const SavedMixture& saved, const SavedMixture& own);

/// What batches of like lengths are composed of beside that.
struct SavedBuckets {
  std::string by = {};        ///< LengthBuckets::by
  std::uint64_t lengths = 0;  ///< LengthTable::fingerprint()
  std::uint64_t window = 0;   ///< LengthBuckets::window
  BatchLimits limits = {};    ///< that the epoch's batches were composed for
  friend bool operator==(const SavedBuckets&, const SavedBuckets&) = default;
};

/// Any rank's state serves all ranks. With another world or batch size the rest of the epoch begins at the first
/// position not delivered.
struct LoaderState {
  std::uint64_t dataset = 0;  ///< fingerprint
  std::uint64_t samples = 0;  ///< that the epoch delivers
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
  std::uint64_t start = 0;  ///< position of batch 0
  std::uint64_t batch = 0;  ///< batches delivered since `start`, by every rank
  std::uint32_t world = 1, batch_size = 1;
  std::string transforms = {};  ///< Program::version()
  /// Nothing in states of version 1, which do not say it. Restoring into another order is an error.
  std::optional<SavedOrder> order = {};
  std::optional<SavedMixture> mixture = {};
  std::optional<SavedBuckets> buckets = {};
  friend bool operator==(const LoaderState&, const LoaderState&) = default;

  /// Of version 2; of version 1 without an order.
  std::string to_json() const;
  /// Of either version. Members that are not known here are left out of account: a version never changes what its
  /// members mean. Throws Error: invalid_argument, when the text is no loader state or of a later version.
  static LoaderState from_json(std::string_view text);
};

}  // namespace penstock
