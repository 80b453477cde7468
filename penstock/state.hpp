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

/// The inputs of an epoch's order, besides dataset, seed and epoch.
struct SavedOrder {
  bool shuffle = false;
  std::uint64_t shuffle_block = 0;   ///< 0: none
  std::uint64_t shuffle_window = 0;  ///< 0: none
  /// the block is not the loader's own; it reproduces the order of a state of version 1
  bool block_of_version_1 = false;
  std::optional<std::uint64_t> subset = {};  ///< fingerprint of the epoch's list of samples; unset: all samples
  Last last = Last::keep;
  std::optional<SavedDraws> draws = {};
  friend bool operator==(const SavedOrder&, const SavedOrder&) = default;
};

/// The part of a LoaderState that describes one source of a mixture.
struct SavedSource {
  std::string name;
  std::uint64_t dataset = 0;  ///< fingerprint of the samples in a pass over the source
  std::uint64_t samples = 0;
  std::uint64_t weight = 0;  ///< relative to a total of about 2^32
  std::uint64_t before = 0;  ///< samples that the source delivered before epoch `since`
  std::uint64_t taken = 0;   ///< the same, up to now
  friend bool operator==(const SavedSource&, const SavedSource&) = default;
};

/// The additional inputs of the order of a mixture.
struct SavedMixture {
  Sampling sampling = Sampling::shares;
  std::uint64_t schedule = 0;  ///< fingerprint of the schedule of weights; 0: no schedule
  std::uint64_t since = 0;     ///< first epoch with these sources and weights
  std::vector<SavedSource> sources = {};
  friend bool operator==(const SavedMixture&, const SavedMixture&) = default;
};

/// Describes how the order of a saved mixture differs from that of `own`; empty if it does not. The numbers of samples
/// delivered by the sources are not compared.
std::string difference(const SavedMixture& saved, const SavedMixture& own);

/// The additional inputs of batches of similar lengths.
struct SavedBuckets {
  std::string by = {};        ///< LengthBuckets::by
  std::uint64_t lengths = 0;  ///< LengthTable::fingerprint()
  std::uint64_t window = 0;   ///< LengthBuckets::window
  BatchLimits limits = {};    ///< limits that the epoch's batches were composed for
  friend bool operator==(const SavedBuckets&, const SavedBuckets&) = default;
};

/// The position of a loader. The state of any rank serves all ranks. With another world size or batch size, the rest of
/// the epoch begins at the first position not delivered.
struct LoaderState {
  std::uint64_t dataset = 0;  ///< fingerprint
  std::uint64_t samples = 0;  ///< number of samples in an epoch
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
  std::uint64_t start = 0;  ///< position of batch 0
  std::uint64_t batch = 0;  ///< batches that every rank delivered since `start`
  std::uint32_t world = 1, batch_size = 1;
  std::string transforms = {};  ///< Program::version()
  /// Unset in states of version 1, which do not contain it. Restoring a state into another order is an error.
  std::optional<SavedOrder> order = {};
  std::optional<SavedMixture> mixture = {};
  std::optional<SavedBuckets> buckets = {};
  friend bool operator==(const LoaderState&, const LoaderState&) = default;

  /// Writes version 2, or version 1 if there is no order.
  std::string to_json() const;
  /// Reads either version. Unknown members are ignored, because a version never changes the meaning of its members.
  /// Throws Error: invalid_argument, if the text is not a loader state, or is one of a later version.
  static LoaderState from_json(std::string_view text);
};

}  // namespace penstock
