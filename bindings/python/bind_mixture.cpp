#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <nanobind/nanobind.h>

#include <penstock/error.hpp>
#include <penstock/mixture.hpp>
#include <penstock/sampling.hpp>

#include "bind.hpp"
#include "dataset_views.hpp"
#include "interpreter.hpp"
#include "open_dataset.hpp"
#include "options/loader_options.hpp"

namespace penstock::python {
namespace {

MixtureOptions options_of(const std::variant<std::uint64_t, std::string>& stop, const std::string& sampling,
                          const std::string& on_change) {
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
  options.carry = on_change == "carry";
  if (!options.carry && on_change != "raise") refuse_word("on_change", on_change, "\"raise\" or \"carry\"");
  return options;
}

// Sets a weight for each source. Unknown sources are errors, which call the weights `option`.
void set_weights(std::vector<MixtureSource>& sources, const nb::dict& weights, const std::string& option) {
  for (const auto& [name, weight] : weights) {
    const std::string word = nb::str(name).c_str();
    const auto source = std::ranges::find(sources, word, &MixtureSource::name);
    if (source == sources.end()) throw Error::invalid_argument(option + ": the mixture has no source \"" + word + "\"");
    if (!nb::try_cast(weight, source->weight))
      throw Error::invalid_argument(option + ": the weight of \"" + word + "\" is not a number");
  }
  for (const MixtureSource& source : sources)
    if (!weights.contains(source.name.c_str()))
      throw Error::invalid_argument(option + ": source \"" + source.name + "\" has no weight");
}

std::vector<WeightChange> schedule_of(std::vector<MixtureSource> sources, nb::handle given) {
  const auto refuse = [](nb::handle value) {
    raise_type_error(
        "schedule must be a list, [(position, {source: weight}), ...], with whole numbers above 0 as positions, not " +
        shown(value));
  };
  if (nb::isinstance<nb::str>(given) || nb::isinstance<nb::dict>(given) ||
      PyObject_HasAttrString(given.ptr(), "__iter__") == 0)
    refuse(given);
  std::vector<WeightChange> schedule;
  for (const nb::handle each : nb::iter(given)) {
    std::pair<std::uint64_t, nb::dict> change;
    if (!nb::try_cast(each, change)) refuse(each);
    const auto& [position, weights] = change;
    if (position == 0)
      throw Error::invalid_argument(
          "schedule: positions must be above 0, because the argument weights holds from position 0");
    set_weights(sources, weights, "schedule, from position " + std::to_string(position) + " on");
    schedule.push_back({.position = position, .weights = {}});
    for (const MixtureSource& source : sources) schedule.back().weights.push_back(source.weight);
  }
  return schedule;
}

// Reads a mixture from a file. Its path is given instead of datasets. The file contains all options.
Mixture mixture_of_file(const nb::object& path, bool alone) {
  if (!alone)
    throw Error::invalid_argument(
        "the file of a mixture contains weights, stop and the other options: pass no other arguments");
  std::filesystem::path file;
  if (!nb::try_cast(path, file) || nb::isinstance<Dataset>(path)) {
    raise_type_error(
        "mixture requires a dict of datasets by names, {\"web\": dataset, ...}, or the path of a mixture's file, not " +
        shown(path));
  }
  if (std::error_code failure; std::filesystem::is_directory(file, failure))
    throw Error::invalid_argument("is a folder, but the file of a mixture is JSON: pass datasets as a dict by names",
                                  {.dataset = file.string()});
  const WithoutInterpreter released;
  return read_mixture(file);
}

Mixture mixture(const nb::object& given, const std::optional<nb::dict>& weights, std::optional<double> temperature,
                const std::variant<std::uint64_t, std::string>& stop, const std::string& sampling,
                const std::string& on_change, nb::handle schedule) {
  if (!nb::isinstance<nb::dict>(given)) {
    const auto* word = std::get_if<std::string>(&stop);
    const bool alone = !weights && !temperature && schedule.is_none() && word != nullptr &&
                       *word == "first_exhausted" && sampling == "shares" && on_change == "raise";
    return mixture_of_file(given, alone);
  }
  const auto datasets = nb::borrow<nb::dict>(given);
  MixtureOptions options = options_of(stop, sampling, on_change);
  if (weights && temperature) throw Error::invalid_argument("weights cannot be combined with temperature");
  std::vector<MixtureSource> all;
  std::vector<Dataset> opened;
  for (const auto& [name, dataset] : datasets) {
    if (!nb::isinstance<Dataset>(dataset) && !nb::isinstance<nb::str>(dataset) && !nb::hasattr(dataset, "__fspath__")) {
      raise_type_error("source \"" + std::string(nb::str(name).c_str()) +
                       "\" of the mixture must be a Dataset or the path of one, not " + shown(dataset));
    }
    opened.push_back(open_dataset(dataset));
    all.push_back({.name = nb::str(name).c_str(), .dataset = opened.back()});
  }
  if (weights) {
    set_weights(all, *weights, "weights");
  } else {
    const std::vector<double> by_size = weights_by_size(opened, temperature.value_or(1));
    for (std::size_t s = 0; s < all.size(); ++s) all[s].weight = by_size[s];
  }
  if (!schedule.is_none()) options.schedule = schedule_of(all, schedule);
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

// The pickled form: (name, dataset, weight) of each source, and the options.
nb::tuple state_of(const Mixture& self) {
  nb::list sources, schedule;
  for (const MixtureSource& source : self.sources())
    sources.append(nb::make_tuple(text(source.name), source.dataset, source.weight));
  const MixtureOptions& options = self.options();
  for (const WeightChange& change : options.schedule) schedule.append(nb::make_tuple(change.position, change.weights));
  return nb::make_tuple(sources, static_cast<int>(options.sampling), static_cast<int>(options.stop), options.samples,
                        options.carry, schedule);
}

Mixture from_state(const nb::tuple& state) {
  using Weights = std::vector<double>;
  std::vector<MixtureSource> sources;
  for (const nb::handle each : nb::iter(state[0])) {
    const nb::object name = each[0];
    sources.push_back({.name = bytes_of(nb::borrow<nb::str>(name)),
                       .dataset = nb::cast<Dataset>(each[1]),
                       .weight = nb::cast<double>(each[2])});
  }
  MixtureOptions options{.sampling = static_cast<Sampling>(nb::cast<int>(state[1])),
                         .stop = static_cast<Stop>(nb::cast<int>(state[2])),
                         .samples = nb::cast<std::uint64_t>(state[3]),
                         .carry = nb::cast<bool>(state[4])};
  for (const auto& [position, weights] : nb::cast<std::vector<std::pair<std::uint64_t, Weights>>>(state[5]))
    options.schedule.push_back({.position = position, .weights = weights});
  return Mixture(std::move(sources), options);
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
      "Several datasets with weights. Their samples come in one order. Made by penstock.mixture(), for a\n"
      "Loader. Immutable.")
      .def_prop_ro("sources", names_of, nb::sig("def sources(self) -> list[str]"),
                   "Names of the sources. \"__source__\" of a batch contains positions in this list.")
      .def_prop_ro("weights", weights_of, nb::sig("def weights(self) -> dict[str, float]"),
                   "Weight of each source. The sum is 1.")
      .def_prop_ro(
          "dataset", [](const Mixture& self) { return self.dataset(); },
          "The samples of all sources, one source after the other.")
      .def("__getstate__", state_of)
      .def("__setstate__", [](Mixture& self, const nb::tuple& state) { new (&self) Mixture(from_state(state)); })
      .def("__repr__", repr);
  module.def(
      "mixture", mixture, nb::arg("datasets"), nb::arg("weights") = nb::none(), nb::kw_only(),
      nb::arg("temperature") = nb::none(), nb::arg("stop") = "first_exhausted", nb::arg("sampling") = "shares",
      nb::arg("on_change") = "raise", nb::arg("schedule") = nb::none(),
      nb::sig(
          "def mixture(datasets: dict[str, Dataset | str | os.PathLike] | str | os.PathLike, weights: dict[str, float] "
          "| None = None, *, "
          "temperature: float | None = None, stop: int | str = 'first_exhausted', sampling: str = 'shares', "
          "on_change: str = 'raise', schedule: collections.abc.Iterable[tuple[int, dict[str, float]]] | None = None) "
          "-> "
          "Mixture"),
      "Mixes datasets of any formats, with the same fields, into one order, for penstock.Loader().\n"
      "\n"
      "datasets: {name: dataset}. A dataset is a Dataset, a view or a path. Or the path of a JSON file with all of\n"
      "    these arguments, which the command reads too.\n"
      "weights: {name: weight}, numbers of 0 or more. By default, each sample comes as often as any other.\n"
      "temperature: sets the weights to size ** (1 / temperature). Above 1, small datasets come more often.\n"
      "stop: when an epoch ends. \"first_exhausted\": before a source would repeat. \"all_exhausted\": when each\n"
      "    source was used up once; others repeat meanwhile, in a fresh order. A number: after that many\n"
      "    samples. The next epoch continues each source where it stopped.\n"
      "sampling: \"shares\": the first n samples of an epoch contain each source in its share. The difference is\n"
      "    at most one sample for two sources, and two samples for more. The limits for the part of each rank\n"
      "    are in docs/order.md. \"random\": sources come by chance, in blocks of 4096 samples that have the\n"
      "    weights. \"random\" requires shuffle=True.\n"
      "on_change: the reaction to a restored state with other weights or sources. \"raise\": an error. \"carry\":\n"
      "    the epoch ends, and each source that still exists continues where it was.\n"
      "schedule: [(position, weights), ...], in ascending order: other weights from that sample of the training\n"
      "    on. Requires a number for stop, and sampling=\"shares\".\n"
      "Raises Error: invalid_argument for weights that are negative, not numbers or all 0, and for datasets\n"
      "that do not fit each other. Also raises the errors of ps.open().");
}

}  // namespace penstock::python
