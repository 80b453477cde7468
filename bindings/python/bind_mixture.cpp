#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <nanobind/nanobind.h>

#include <penstock/base/error.hpp>
#include <penstock/loader/mixture.hpp>

#include "bind.hpp"
#include "dataset_views.hpp"
#include "interpreter.hpp"
#include "loader_options.hpp"
#include "open_dataset.hpp"

namespace penstock::python {
namespace {

MixtureOptions options_of(const std::variant<std::uint64_t, std::string>& stop, const std::string& sampling,
                          const std::string& sources) {
  MixtureOptions options;
  if (const auto* samples = std::get_if<std::uint64_t>(&stop)) {
    options.stop = Stop::samples;
    options.samples = *samples;
  } else if (const auto& word = std::get<std::string>(stop); word == "all_exhausted") {
    options.stop = Stop::all_exhausted;
  } else if (word != "first_exhausted") {
    refuse_word("stop", word, "\"first_exhausted\", \"all_exhausted\" or a number of samples");
  }
  if (sampling == "random") {
    options.sampling = Sampling::random;
  } else if (sampling != "shares") {
    refuse_word("sampling", sampling, "\"shares\" or \"random\"");
  }
  options.carry = sources == "carry";
  if (!options.carry && sources != "same") refuse_word("sources", sources, "\"same\" or \"carry\"");
  return options;
}

// A weight for each source, and no other.
void set_weights(std::vector<MixtureSource>& sources, const nb::dict& weights) {
  for (const auto& [name, weight] : weights) {
    const std::string word = nb::str(name).c_str();
    const auto source = std::ranges::find(sources, word, &MixtureSource::name);
    if (source == sources.end())
      throw Error::invalid_argument("weights: there is no source \"" + word + "\" in the mixture");
    if (!nb::try_cast(weight, source->weight))
      throw Error::invalid_argument("weights: that of \"" + word + "\" is no number");
  }
  for (const MixtureSource& source : sources)
    if (!weights.contains(source.name.c_str()))
      throw Error::invalid_argument("weights: source \"" + source.name + "\" has none");
}

Mixture mixture(const nb::dict& datasets, const std::optional<nb::dict>& weights, std::optional<double> temperature,
                const std::variant<std::uint64_t, std::string>& stop, const std::string& sampling,
                const std::string& sources) {
  const MixtureOptions options = options_of(stop, sampling, sources);
  if (weights && temperature) throw Error::invalid_argument("a mixture takes weights or a temperature, not both");
  std::vector<MixtureSource> all;
  std::vector<Dataset> opened;
  for (const auto& [name, dataset] : datasets) {
    opened.push_back(open_dataset(dataset));
    all.push_back({.name = nb::str(name).c_str(), .dataset = opened.back()});
  }
  if (weights) {
    set_weights(all, *weights);
  } else {
    const std::vector<double> by_size = weights_by_size(opened, temperature.value_or(1));
    for (std::size_t s = 0; s < all.size(); ++s) all[s].weight = by_size[s];
  }
  const WithoutInterpreter released;
  return Mixture(std::move(all), options);
}

nb::list names_of(const Mixture& self) {
  nb::list names;
  for (const MixtureSource& source : self.sources()) names.append(text(source.name));
  return names;
}

nb::dict weights_of(const Mixture& self) {
  double all = 0;
  for (const MixtureSource& source : self.sources()) all += source.weight;
  nb::dict weights;
  for (const MixtureSource& source : self.sources()) weights[text(source.name)] = source.weight / all;
  return weights;
}

nb::str repr(const Mixture& self) {
  std::string told = "<penstock.Mixture of " + std::to_string(self.sources().size()) + " sources:";
  constexpr std::size_t kTold = 8;
  const nb::dict weights = weights_of(self);
  for (std::size_t s = 0; s < std::min(self.sources().size(), kTold); ++s) {
    const MixtureSource& source = self.sources()[s];
    const auto percent = nb::str("{:.3g} %").attr("format")(100 * nb::cast<double>(weights[text(source.name)]));
    told += (s == 0 ? " " : ", ") + source.name + " (" + nb::cast<std::string>(percent) + ", " +
            std::to_string(source.dataset.size()) + " samples)";
  }
  return text(told + (self.sources().size() > kTold ? ", ...>" : ">"));
}

}  // namespace

void bind_mixture(nb::module_& module) {
  nb::class_<Mixture>(
      module, "Mixture",
      "Several datasets whose samples come in one order, by weights: what penstock.mixture() gives, for\n"
      "a Loader. Immutable.")
      .def_prop_ro("sources", names_of, nb::sig("def sources(self) -> list[str]"),
                   "Names; a batch's \"__source__\" has their numbers.")
      .def_prop_ro("weights", weights_of, nb::sig("def weights(self) -> dict[str, float]"),
                   "Of each source; their sum is 1.")
      .def_prop_ro(
          "dataset", [](const Mixture& self) { return self.dataset(); },
          "The samples of all sources, one source behind the other.")
      .def("__repr__", repr);
  module.def(
      "mixture", mixture, nb::arg("datasets"), nb::arg("weights") = nb::none(), nb::kw_only(),
      nb::arg("temperature") = nb::none(), nb::arg("stop") = "first_exhausted", nb::arg("sampling") = "shares",
      nb::arg("sources") = "same",
      nb::sig(
          "def mixture(datasets: dict[str, Dataset | str | os.PathLike], weights: dict[str, float] | None = None, *, "
          "temperature: float | None = None, stop: int | str = 'first_exhausted', sampling: str = 'shares', "
          "sources: str = 'same') -> Mixture"),
      "Mixes datasets of any packings, with the same fields, into one order, for penstock.Loader().\n\n"
      "datasets: names, and what they stand for: a Dataset, a view of one, or a path.\n"
      "weights: of each, numbers of 0 or more; left out, by size: each sample comes as often as any other.\n"
      "temperature: in place of weights, size ** (1 / temperature): above 1 small datasets come more often.\n"
      "stop: an epoch ends at \"first_exhausted\", before a source would begin again; at \"all_exhausted\", when each\n"
      "came to its end (others begin again meanwhile, in a fresh order); or after a number of samples. The next epoch\n"
      "goes on where each source stands.\n"
      "sampling: \"shares\": any first n samples hold each of two sources within one of its weight, of more within\n"
      "two, and so does what each rank gets; \"random\": sources come by chance, in blocks of 4096 that have the\n"
      "weights (takes shuffle=True).\n"
      "sources: what restoring a state of other weights or sources does: \"same\": it is an error; \"carry\": the "
      "epoch\n"
      "ends, and each source that is still there goes on where it was.\n"
      "Raises Error: invalid_argument, for weights that are negative, no numbers or all 0, and for datasets that do\n"
      "not go together; what opening raises.");
}

}  // namespace penstock::python
