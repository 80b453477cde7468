#include <algorithm>
#include <cmath>
#include <utility>

#include <penstock/base/error.hpp>
#include <penstock/base/portable_math.hpp>
#include <penstock/base/printable.hpp>
#include <penstock/formats/io/hash.hpp>
#include <penstock/formats/views/views.hpp>
#include <penstock/loader/mixture.hpp>
#include <penstock/loader/plan/mixed_order.hpp>

namespace penstock {
namespace {

constexpr double kWeightParts = 4294967296;  // 2^32, that the weights are parts of

std::vector<Dataset> datasets_of(std::span<const MixtureSource> sources) {
  std::vector<Dataset> datasets;
  for (const MixtureSource& source : sources) datasets.push_back(source.dataset);
  return datasets;
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
    if (!std::isfinite(source.weight) || source.weight < 0)
      throw Error::invalid_argument("the weight of source " + double_quoted(source.name) +
                                    " is no number of 0 or more: " + std::to_string(source.weight));
    all += source.weight;
  }
  if (all <= 0) throw Error::invalid_argument("all weights of the mixture are 0");
  if (!std::isfinite(all)) throw Error::invalid_argument("the weights of the mixture are too large to add up");
  if (options.stop == Stop::samples && options.samples == 0)
    throw Error::invalid_argument("an epoch of the mixture would have no samples: stop is 0");
}

// Of arrays whose type and shape a dataset has for all its samples; others are looked at when they are read.
void require_alike(std::span<const MixtureSource> sources) {
  const auto told = [](const MixtureSource& source, const FieldSchema& field) {
    return double_quoted(source.name) + " has " + std::string(name(field.dtype)) + " " + to_string(field.shape);
  };
  for (const MixtureSource& source : sources) {
    for (const FieldSchema& field : source.dataset.fields()) {
      for (const MixtureSource& other : sources) {
        const auto number = other.dataset.field(field.name);
        if (!number || !field.fixed) continue;
        const FieldSchema& theirs = other.dataset.fields()[*number];
        if (!theirs.fixed || (theirs.dtype == field.dtype && theirs.shape == field.shape)) continue;
        throw Error::invalid_argument("the sources of the mixture differ in field " + double_quoted(field.name) + ": " +
                                      told(source, field) + ", " + told(other, theirs));
      }
    }
  }
}

std::uint64_t parts_of(double weight, double all) {
  return weight == 0 ? 0 : static_cast<std::uint64_t>(std::max(1.0, std::floor(weight / all * kWeightParts + 0.5)));
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
  require_alike(sources);
  Dataset all = concatenated(datasets_of(sources));
  state_ = std::make_shared<const State>(State{std::move(sources), options, std::move(all)});
}

std::span<const MixtureSource> Mixture::sources() const {
  return state_->sources;
}

const MixtureOptions& Mixture::options() const {
  return state_->options;
}

const Dataset& Mixture::dataset() const {
  return state_->dataset;
}

std::shared_ptr<const MixedOrder> Mixture::order_of(std::span<const std::uint64_t> included) const {
  double all = 0;
  for (const MixtureSource& source : state_->sources) all += source.weight;
  std::vector<MixedSource> mixed;
  std::uint64_t first = 0;   // sample of a source, among all
  std::uint64_t listed = 0;  // samples of the sources before, in the list
  for (const MixtureSource& source : state_->sources) {
    MixedSource own{.name = source.name,
                    .dataset = source.dataset,
                    .weight = parts_of(source.weight, all),
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
    if (own.samples == 0 && own.weight > 0)
      throw Error::invalid_argument(
          "source " + double_quoted(source.name) + " of the mixture has no samples that can be used",
          {.dataset = source.dataset.path().string()});
    first += source.dataset.size();
    listed += own.samples;
    mixed.push_back(std::move(own));
  }
  return std::make_shared<const MixedOrder>(std::move(mixed), state_->options);
}

std::vector<double> weights_by_size(std::span<const Dataset> datasets, double temperature) {
  if (!std::isfinite(temperature) || temperature <= 0)
    throw Error::invalid_argument("the temperature of a mixture is a number above 0, not " +
                                  std::to_string(temperature));
  std::vector<double> weights;
  for (const Dataset& dataset : datasets) {
    const auto size = static_cast<double>(dataset.size());
    weights.push_back(temperature == 1 || size == 0 ? size : portable::exp(portable::log(size) / temperature));
  }
  return weights;
}

}  // namespace penstock
