// A mixture: several datasets whose samples come in one order, by weights.
//
//   const penstock::Mixture mixture({{"web", penstock::open("web"), 3}, {"books", penstock::open("books"), 1}});
//   penstock::Loader loader(mixture, {.shuffle = true});
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <penstock/dataset.hpp>
#include <penstock/order.hpp>

namespace penstock {

struct MixedOrder;

/// One dataset of a mixture.
struct MixtureSource {
  std::string name;   ///< its name in states, errors and stats
  Dataset dataset;    ///< of any format, or a view
  double weight = 1;  ///< relative to the other weights: the source's proportion of the samples
};

/// Datasets with equal fields, and the rules for mixing them. docs/order.md defines the order. Copies are cheap.
class Mixture {
 public:
  /// Throws Error: invalid_argument, for no sources, two sources of one name, weights that are negative, infinite, not
  /// a number or all 0, an epoch without samples, and sources whose classes differ.
  explicit Mixture(std::vector<MixtureSource> sources, const MixtureOptions& options = {});

  std::span<const MixtureSource> sources() const;
  const MixtureOptions& options() const;
  /// True for a source that has weight 0, in the schedule too.
  bool never_comes(const MixtureSource& source) const;
  const Dataset& dataset() const;  ///< the samples of all sources, one source after the other

  /// The order of the samples that a loader delivers. `included`: their numbers, in rising order; empty: all. Throws
  /// Error: invalid_argument, if a source with a weight has no samples left, and the errors of MixedOrder.
  std::shared_ptr<const MixedOrder> order_of(std::span<const std::uint64_t> included) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// Weights in proportion to size^(1 / temperature). With temperature 1, every sample is equally frequent. With a higher
/// one, samples of small sources are more frequent. Throws Error: invalid_argument, unless the temperature is a number
/// above 0.
std::vector<double> weights_by_size(std::span<const Dataset> datasets, double temperature = 1);

}  // namespace penstock
