// How a mixture draws on its sources, and when an epoch of it is over.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace penstock {

/// `shares`: every stretch of the order has the weights, as nearly as whole samples can; `random`: sources come by
/// chance, so batches differ as with independent draws.
enum class Sampling : std::uint8_t { shares, random };

/// When an epoch ends: before a source would have to begin again, when each source was exhausted at least once (others
/// begin again meanwhile, in a fresh order), or after so many samples.
enum class Stop : std::uint8_t { first_exhausted, all_exhausted, samples };

std::string_view name(Sampling sampling);  ///< "shares", "random"

/// From a position of the training on: epochs of MixtureOptions::samples stand one behind the other.
struct WeightChange {
  std::uint64_t position = 0;
  std::vector<double> weights = {};  ///< of each source, in the mixture's order
};

struct MixtureOptions {
  Sampling sampling = Sampling::shares;
  Stop stop = Stop::first_exhausted;
  std::uint64_t samples = 0;  ///< of an epoch, with Stop::samples
  /// A state of a mixture of other weights or sources is restored: the epoch that was under way ends, and each source
  /// that is still there, by its name, goes on where it was. Else that is an error.
  bool carry = false;
  /// Weights that follow those of the sources, each from its position on, in rising order. Takes Stop::samples and
  /// Sampling::shares.
  std::vector<WeightChange> schedule = {};
};

}  // namespace penstock
