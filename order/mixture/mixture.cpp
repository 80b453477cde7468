#include <algorithm>
#include <cmath>
#include <utility>

#include <base/numbers/portable_math.hpp>
#include <base/printable.hpp>
#include <formats/io/hash.hpp>
#include <order/mixture/mixed_order.hpp>
#include <order/permutation/row.hpp>
#include <penstock/error.hpp>
#include <penstock/mixture.hpp>
#include <penstock/views.hpp>

namespace penstock {
namespace {

constexpr double kWeightParts = 4294967296;  // 2^32, the denominator of the parts

std::vector<Dataset> datasets_of(std::span<const MixtureSource> sources) {
  std::vector<Dataset> datasets;
  for (const MixtureSource& source : sources) datasets.push_back(source.dataset);
  return datasets;
}

double require_weight(const MixtureSource& source, double weight, const std::string& when) {
  if (!std::isfinite(weight) || weight < 0)
    throw Error::invalid_argument("the weight of source " + double_quoted(source.name) + when +
                                  " must be a number of 0 or more, not " + std::to_string(weight));
  return weight;
}

void require_sum(double all, const std::string& when) {
  if (all <= 0) throw Error::invalid_argument("all weights of the mixture" + when + " are 0");
  if (!std::isfinite(all))
    throw Error::invalid_argument("the weights of the mixture" + when + " are too large to add up");
}

void require_schedule(std::span<const MixtureSource> sources, const MixtureOptions& options) {
  if (options.schedule.empty()) return;
  if (options.stop != Stop::samples)
    throw Error::invalid_argument("a schedule of weights requires stop to be a number of samples per epoch");
  if (options.sampling != Sampling::shares)
    throw Error::invalid_argument("a schedule of weights requires sampling \"shares\"");
  std::uint64_t before = 0;
  for (const WeightChange& change : options.schedule) {
    const std::string position = std::to_string(change.position), when = " from position " + position + " on";
    if (change.position <= before)
      throw Error::invalid_argument("the positions of a schedule must be above 0 and increase, but " + position +
                                    " comes after " + std::to_string(before));
    if (change.position >= kLongestOrder)
      throw Error::invalid_argument("the positions of a schedule must be below 2^48, not " + position);
    if (change.weights.size() != sources.size())
      throw Error::invalid_argument(std::to_string(change.weights.size()) + " weights" + when + " for " +
                                    std::to_string(sources.size()) + " sources");
    double all = 0;
    for (std::size_t s = 0; s < sources.size(); ++s) all += require_weight(sources[s], change.weights[s], when);
    require_sum(all, when);
    before = change.position;
  }
}

void require_sound(std::span<const MixtureSource> sources, const MixtureOptions& options) {
  if (sources.empty()) throw Error::invalid_argument("a mixture needs a dataset");
  double all = 0;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const MixtureSource& source = sources[i];
    if (source.name.empty()) throw Error::invalid_argument("a source of a mixture needs a name");
    for (std::size_t j = 0; j < i; ++j)
      if (sources[j].name == source.name)
        throw Error::invalid_argument("two sources of the mixture are called " + double_quoted(source.name));
    all += require_weight(source, source.weight, "");
  }
  require_sum(all, "");
  if (options.stop == Stop::samples && options.samples == 0)
    throw Error::invalid_argument("stop is 0, so an epoch of the mixture would have no samples");
  require_schedule(sources, options);
}

std::vector<std::uint64_t> parts_of(std::span<const double> weights) {
  double all = 0;
  for (const double weight : weights) all += weight;
  std::vector<std::uint64_t> parts;
  for (const double weight : weights) {
    const double exact = std::floor(weight / all * kWeightParts + 0.5);
    parts.push_back(weight == 0 ? 0 : static_cast<std::uint64_t>(std::max(1.0, exact)));
  }
  return parts;
}

}  // namespace

std::string_view name(Sampling sampling) {
  return sampling == Sampling::shares ? "shares" : "random";
}

struct Mixture::State {
  std::vector<MixtureSource> sources;
  MixtureOptions options;
  Dataset dataset;
};

Mixture::Mixture(std::vector<MixtureSource> sources, const MixtureOptions& options) {
  require_sound(sources, options);
  Dataset all = concatenated(datasets_of(sources));
  state_ = std::make_shared<const State>(State{std::move(sources), options, std::move(all)});
}

std::span<const MixtureSource> Mixture::sources() const {
  return state_->sources;
}

const MixtureOptions& Mixture::options() const {
  return state_->options;
}

bool Mixture::never_comes(const MixtureSource& source) const {
  const auto number = static_cast<std::size_t>(&source - state_->sources.data());
  return source.weight == 0 && std::ranges::none_of(state_->options.schedule, [number](const WeightChange& change) {
           return change.weights[number] > 0;
         });
}

const Dataset& Mixture::dataset() const {
  return state_->dataset;
}

std::shared_ptr<const MixedOrder> Mixture::order_of(std::span<const std::uint64_t> included) const {
  std::vector<double> weights;
  for (const MixtureSource& source : state_->sources) weights.push_back(source.weight);
  const std::vector<std::uint64_t> parts = parts_of(weights);
  std::vector<std::pair<std::uint64_t, std::vector<std::uint64_t>>> changes;
  for (const WeightChange& change : state_->options.schedule)
    changes.emplace_back(change.position, parts_of(change.weights));
  const auto ever_comes = [&](std::size_t s) {
    return parts[s] > 0 || std::ranges::any_of(changes, [s](const auto& change) { return change.second[s] > 0; });
  };
  std::vector<MixedSource> mixed;
  std::uint64_t first = 0;   // number of a source's first sample, among all samples
  std::uint64_t listed = 0;  // number of samples in the list from earlier sources
  for (const MixtureSource& source : state_->sources) {
    MixedSource own{.name = source.name,
                    .dataset = source.dataset,
                    .weight = parts[mixed.size()],
                    .samples = source.dataset.size(),
                    .first = first};
    if (!included.empty()) {
      own.first = listed;
      const auto begin = included.begin() + static_cast<std::ptrdiff_t>(listed);
      const auto end = std::lower_bound(begin, included.end(), first + source.dataset.size());
      own.samples = static_cast<std::uint64_t>(end - begin);
      if (own.samples != source.dataset.size()) {
        std::uint64_t hash = source.dataset.fingerprint();
        for (auto sample = begin; sample != end; ++sample) hash = mix64(hash ^ (*sample - first)) + 1;
        own.of_some = hash;
      }
    }
    if (own.samples == 0 && ever_comes(mixed.size()))
      throw Error::invalid_argument("source " + double_quoted(source.name) + " of the mixture has no usable samples",
                                    {.dataset = source.dataset.path().string()});
    first += source.dataset.size();
    listed += own.samples;
    mixed.push_back(std::move(own));
  }
  return std::make_shared<const MixedOrder>(std::move(mixed), state_->options, changes);
}

std::vector<double> weights_by_size(std::span<const Dataset> datasets, double temperature) {
  if (!std::isfinite(temperature) || temperature <= 0)
    throw Error::invalid_argument("the temperature of a mixture must be a number above 0, not " +
                                  std::to_string(temperature));
  std::vector<double> weights;
  for (const Dataset& dataset : datasets) {
    const auto size = static_cast<double>(dataset.size());
    weights.push_back(temperature == 1 || size == 0 ? size : portable::exp(portable::log(size) / temperature));
  }
  return weights;
}

}  // namespace penstock
