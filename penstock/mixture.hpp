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

struct MixtureSource {
  std::string name;   ///< what states, errors and stats call it
  Dataset dataset;    ///< of any packing, or a view
  double weight = 1;  ///< its part of the samples, beside the others' weights
};

/// Datasets with equal fields, and how they are mixed. docs/order.md says which sample stands where. Copies are cheap.
class Mixture {
 public:
  /// Throws Error: invalid_argument, for no source, two of one name, weights that are negative, infinite, no number or
  /// all 0, an epoch of no samples, and sources whose classes differ.
  explicit Mixture(std::vector<MixtureSource> sources, const MixtureOptions& options = {});

  std::span<const MixtureSource> sources() const;
  const MixtureOptions& options() const;
  /// A source that has weight 0, also in the whole schedule.
  bool never_comes(const MixtureSource& source) const;
  const Dataset& dataset() const;  ///< the samples of all sources, one source behind the other

  /// `included`: numbers of the samples that a loader delivers, in rising order; empty: all of them. Throws Error:
  /// invalid_argument, where a source that has a weight is left without samples, and as MixedOrder does.
  std::shared_ptr<const MixedOrder> order_of(std::span<const std::uint64_t> included) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// Weights in proportion to size^(1 / temperature): with 1 each sample comes as often as any other, with more the small
/// sources come more often. Throws Error: invalid_argument, unless the temperature is a number above 0.
std::vector<double> weights_by_size(std::span<const Dataset> datasets, double temperature = 1);

}  // namespace penstock
