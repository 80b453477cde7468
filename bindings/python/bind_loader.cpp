#include <algorithm>
#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <nanobind/nanobind.h>

#include <loader/options/option_table.hpp>
#include <penstock/error.hpp>
#include <record/watch/slow_rank.hpp>

#include "batch_dict.hpp"
#include "bind.hpp"
#include "open_dataset.hpp"
#include "options/loader_options.hpp"
#include "options/option_objects.hpp"
#include "options/set_option.hpp"
#include "profiler_mark.hpp"
#include "python_loader.hpp"
#include "stats.hpp"
#include "tensor.hpp"

namespace penstock::python {
namespace {

// More than in C++. In Python, a variable of the last loop or a comprehension still holds a batch, and programs keep
// some in a list or in zip(). Memory for batches beyond kHeld is allocated on demand.
constexpr unsigned kHeld = 4, kHeldMax = 16;

struct LoaderIterator {
  nb::object owner;  // keeps the loader
  PythonLoader* loader;
  std::uint64_t iteration;
  nb::object convert;  // converts each batch for the program; null: the batch itself is returned
};

// The value that a loop receives: the batch, or the result of the program's own step.
nb::object delivered(const Batch& batch) {
  return batch.attached() != nullptr ? made_of(batch) : nb::object(batch_dict(batch));
}

nb::object next_batch(LoaderIterator& self) {
  std::optional<ProfilerMark> mark(std::in_place);
  try {
    nb::object given = self.loader->next(self.iteration, [&](const Batch& batch) {
      mark.reset();
      nb::object made = delivered(batch);
      return self.convert.is_valid() ? self.convert(made) : made;
    });
    if (given.is_valid()) return given;
  } catch (nb::python_error& raised) {
    if (!raised.matches(PyExc_StopIteration)) throw;  // would look like the end of the epoch
    nb::raise_from(raised, PyExc_RuntimeError, "a function of a loader raised StopIteration");
  }
  throw nb::stop_iteration();
}

std::vector<Mix> mixes_of(const std::optional<std::variant<Mix, std::vector<Mix>>>& given) {
  if (!given) return {};
  if (const auto* one = std::get_if<Mix>(&*given)) return {*one};
  return std::get<std::vector<Mix>>(*given);
}

struct Workers {
  unsigned workers = 0, most = 0;
};
Workers workers_of(const nb::object& given, unsigned most) {
  if (given.is_none()) return {0, most};
  unsigned number = 0;
  if (nb::try_cast(given, number)) {
    if (number == 0) {
      throw Error::invalid_argument(
          "workers must be 1 or more, not 0: leave workers out for all cores, or give workers=1. In torch's "
          "DataLoader, 0 means loading in the process itself; penstock always loads in threads of the process");
    }
    return {number, most};
  }
  std::string word;
  if (!nb::try_cast(given, word)) misfit();
  if (word != "auto") refuse_word("workers", word, "a number of 1 or more, or \"auto\"");
  return {0, most == 0 ? kAutoWorkers : most};
}

// "cuda:0", from a text or a torch.device.
std::string device_of(const nb::object& given) {
  std::string name;
  if (given.is_none() || nb::try_cast(given, name)) return name;
  const nb::handle type = given.type();
  const auto is = [&](const char* attribute, const char* text) {
    return nb::cast<std::string>(type.attr(attribute)) == text;
  };
  if (!is("__module__", "torch") || !is("__name__", "device")) {
    raise_type_error("penstock.Loader(): device must be a str such as \"cuda:0\", a torch.device or None, not " +
                     shown(given));
  }
  return nb::str(given).c_str();
}

// Warns of conditions that programs should know but would not look up in the stats.
void warn_of(const std::string& note) {
  if (!note.empty()) warn("penstock: " + note);
}

// The arguments, for other processes that want such a loader.
std::string recipe_of(const nb::object& source, const nb::kwargs& given) {
  const auto made = nb::cast<nb::bytes>(nb::module_::import_("penstock._sharing").attr("recipe_of")(source, given));
  return {made.c_str(), made.size()};
}

void construct(PythonLoader* self, const nb::object& source, const nb::kwargs& given) {
  const Keywords keywords(given);
  LoaderOptions options;
  keywords.set(options);
  const Workers chosen = workers_of(keywords.object("workers"), keywords.get<unsigned>("max_workers"));
  options.workers = chosen.workers;
  options.max_workers = chosen.most;
  options.mix = mixes_of(keywords.get<std::optional<std::variant<Mix, std::vector<Mix>>>>("mix"));
  options.device = device_of(keywords.object("device"));
  set_shuffle(options, keywords.object("shuffle"));
  set_max_errors(options, keywords.object("max_errors"));
  set_missing(options, keywords.object("missing"));
  options.last_batch = last_of(options.last_batch, keywords.get<bool>("drop_last"));
  options.all_reduce = sum_of(keywords.object("all_reduce"));
  options.timeout = timeout_of(keywords.get<std::optional<double>>("timeout"));
  const auto held = keywords.get<std::optional<unsigned>>("memory_options.reserved_batches"),
             held_max = keywords.get<std::optional<unsigned>>("memory_options.max_live_batches");
  options.memory_options.reserved_batches = held.value_or(std::min(kHeld, held_max.value_or(kHeld)));
  options.memory_options.max_live_batches = held_max.value_or(held.value_or(kHeldMax));
  std::string note = set_rank(options, keywords.get<std::variant<std::uint32_t, std::string>>("rank"),
                              keywords.get<std::optional<std::uint32_t>>("world_size"));
  if (nb::isinstance<Mixture>(source)) options.mixture = std::make_shared<const Mixture>(nb::cast<Mixture>(source));
  Dataset dataset = options.mixture != nullptr ? options.mixture->dataset() : open_dataset(source);
  require_classes(dataset, keywords.get<std::optional<std::vector<std::string>>>("expect_classes"));
  set_sampler(options, dataset, keywords.object("sampler"));
  options.batching = buckets_of(dataset, keywords.object("batching"));
  OwnFunctions own = own_functions(keywords.object("transforms"), keywords.object("sample_transform"),
                                   keywords.object("batch_transform"), keywords.get<unsigned>("python_workers"),
                                   keywords.object("missing"));
  options.transforms = std::move(own.fields);
  if (!options.sharing.name.empty()) options.sharing.recipe = recipe_of(source, given);
  set_missing_inputs(options, dataset, own.filled);
  if (own.step != nullptr && !options.device.empty())
    throw Error::invalid_argument(
        "device cannot be combined with batch_transform, sample_transform or ps.transform(): these make Python "
        "objects, and must move them to the device themselves");
  new (self) PythonLoader(std::move(dataset), std::move(options), std::move(note), std::move(own.step));
  try {
    warn_of(self->use([](Loader& loader) { return loader.stats().notes; }));
  } catch (...) {  // the warning may be an error; Python does not destroy an object whose constructor failed
    self->~PythonLoader();
    throw;
  }
}

nb::list share(const nb::object& self, unsigned consumers, unsigned lag, const std::string& behind, double patience) {
  auto& loader = nb::cast<PythonLoader&>(self);
  if (loader.step() != nullptr) {
    throw Error::unsupported(
        "a loader with Python functions cannot share(): each consumer must run its own. Make each loader with "
        "sharing=ps.SharingOptions(name, consumers=n)");
  }
  LoaderOptions options;
  set_option(options, loader_option("sharing.behind"), nb::str(behind.c_str()));
  options.sharing.lag = lag;
  options.sharing.patience = patience;
  std::vector<Loader> made = loader.use([&](Loader& own) { return own.share(consumers, options.sharing); });
  nb::list loaders;
  for (Loader& each : made) {
    nb::object one = nb::inst_alloc(self.type());
    new (nb::inst_ptr<PythonLoader>(one)) PythonLoader(std::move(each));
    nb::inst_mark_ready(one);
    loaders.append(one);
  }
  return loaders;
}

nb::object json(const char* function, const nb::object& argument) {
  return nb::module_::import_("json").attr(function)(argument);
}

nb::object state_dict(PythonLoader& self) {
  return json("loads", text(self.use([](Loader& loader) { return loader.state().to_json(); })));
}

void load_state_dict(PythonLoader& self, const nb::dict& state) {
  warn_of(self.restore(LoaderState::from_json(nb::str(json("dumps", state)).c_str())));
}

nb::object stats_of(PythonLoader& self) {
  nb::object stats = to_python(self.stats());
  if (self.step() != nullptr && self.step()->function().is_valid())
    stats.attr("add")(self.step()->function().attr("stats")());
  return stats;
}

nb::list gains_of_loader(PythonLoader& self) {
  nb::list told;
  for (const Gain& gain : self.use([](Loader& loader) { return loader.gains(); })) {
    told.append(dict_of({{"knob", gain.knob},
                         {"value", gain.value},
                         {"samples_per_s", gain.samples_per_s},
                         {"ratio", gain.ratio},
                         {"limit", gain.limit},
                         {"text", gain.text}}));
  }
  return told;
}

void reset_stats(PythonLoader& self) {
  self.use([](Loader& loader) { loader.reset_stats(); });
  if (self.step() != nullptr && self.step()->function().is_valid()) self.step()->function().attr("reset")();
}

nb::object trace(const nb::object& self, const nb::object& file, std::uint64_t max_events,
                 const std::optional<Schedule>& schedule) {
  const nb::str name(nb::module_::import_("os").attr("fsdecode")(file));
  nb::cast<PythonLoader&>(self).trace(bytes_of(name), {.max_events = max_events, .schedule = schedule});
  return nb::module_::import_("penstock._trace").attr("Trace")(self, name);
}

nb::dict end_trace(PythonLoader& self) {
  const TraceSummary summary = self.end_trace();
  return dict_of({{"file", summary.file.string()}, {"events", summary.events}, {"dropped", summary.dropped}});
}

void bind_schedule(nb::module_& module) {
  nb::class_<Schedule>(module, "Schedule",
                       "Selects the steps to record. A call with the number of a step returns its phase: \"wait\", "
                       "\"warmup\" or \"active\".")
      .def(
          "__init__",
          [](Schedule* self, std::uint64_t wait, std::uint64_t warmup, std::uint64_t active, std::uint64_t repeat,
             std::uint64_t skip_first) {
            const Schedule made{wait, warmup, active, repeat, skip_first};
            made.check();
            new (self) Schedule(made);
          },
          nb::kw_only(), nb::arg("wait"), nb::arg("warmup"), nb::arg("active"), nb::arg("repeat") = 0,
          nb::arg("skip_first") = 0,
          "After skip_first steps, cycles of wait, warmup and active steps follow, `repeat` times, or without\n"
          "end if it is 0. Steps count from 0. Like torch.profiler.schedule().")
      .def(
          "__call__", [](const Schedule& self, std::uint64_t step) { return std::string(name(self.of(step))); },
          nb::arg("step"))
      .def_ro("wait", &Schedule::wait, "Steps of a cycle that are not recorded.")
      .def_ro("warmup", &Schedule::warmup, "Steps of a cycle that run before the active ones, and are not recorded.")
      .def_ro("active", &Schedule::active, "Steps of a cycle that are recorded.")
      .def_ro("repeat", &Schedule::repeat, "Number of cycles; 0: no end.")
      .def_ro("skip_first", &Schedule::skip_first, "Steps before the first cycle.");
}

LoaderIterator iterate(const nb::object& self, const nb::object& convert) {
  auto& loader = nb::cast<PythonLoader&>(self);
  return {self, &loader, loader.begin(), convert};
}

nb::dict output_dict(const OutputOrigin& origin) {
  const OutputAccount& account = origin.account;
  nb::dict told = dict_of({{"chain", account.chain},
                           {"field", account.field},
                           {"codec", account.codec},
                           {"file", origin.file},
                           {"offset", origin.offset},
                           {"length", origin.length}});
  if (account.stored) {
    told["dtype"] = text(name(account.stored->dtype));
    told["shape"] = nb::tuple(nb::cast(account.stored->shape));
  }
  nb::list steps;
  for (const StepOutcome& step : account.outcomes.steps)
    steps.append(nb::make_tuple(text(step.step), text(step.outcome)));
  told["steps"] = steps;
  if (const auto& geometry = account.outcomes.geometry) {
    told["box"] = nb::make_tuple(geometry->box_x, geometry->box_y, geometry->box_width, geometry->box_height);
    told["flip"] = account.outcomes.flipped;
    told["flip_vertical"] = account.outcomes.flipped_vertically;
  }
  return told;
}

// Adds an output. For a window, each step is a separate entry in "frames".
void add_output(nb::dict& outputs, const OutputOrigin& origin) {
  const nb::str name = text(origin.account.output);
  if (origin.key.empty()) {
    outputs[name] = output_dict(origin);
    return;
  }
  nb::dict step = output_dict(origin);
  step["key"] = text(origin.key);
  step["inside"] = origin.inside;
  if (!outputs.contains(name)) {
    outputs[name] = dict_of({{"chain", origin.account.chain}, {"frames", nb::list()}});
  }
  nb::cast<nb::list>(outputs[name]["frames"]).append(step);
}

nb::dict mix_dict(const MixAccount& mix) {
  const MixDraw& draw = mix.draw;
  nb::dict told = dict_of({{"kind", draw.kind == Mix::Kind::mixup ? "mixup" : "cutmix"},
                           {"lambda", draw.lambda},
                           {"partner", mix.partner}});
  if (draw.kind == Mix::Kind::cutmix)
    told["box"] = nb::make_tuple(draw.box.x, draw.box.y, draw.box.width, draw.box.height);
  return told;
}

nb::dict explain(PythonLoader& self, std::uint64_t epoch, std::uint64_t batch, std::uint32_t row) {
  const RowAccount account = self.use([&](Loader& loader) { return loader.explain(loader.at(epoch, batch), row); });
  nb::dict told = dict_of({{"key", account.key},
                           {"sample", account.sample},
                           {"seed", account.seed},
                           {"epoch", account.epoch},
                           {"occurrence", account.occurrence}});
  if (!account.source.empty()) told["source"] = text(account.source);
  if (account.mix) told["mix"] = mix_dict(*account.mix);
  nb::dict outputs;
  for (const OutputOrigin& origin : account.outputs) add_output(outputs, origin);
  told["outputs"] = outputs;
  return told;
}

// Lets Python's garbage collector find cycles. A program's object often holds the loader, and the loader's functions
// hold the object.
int traverse_loader(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  const PythonLoader& loader = *nb::inst_ptr<PythonLoader>(self);
  if (loader.step() != nullptr) Py_VISIT(loader.step()->function().ptr());
  return 0;
}

int clear_loader(PyObject* self) {
  if (nb::inst_ready(self)) nb::inst_ptr<PythonLoader>(self)->end();
  return 0;
}

int traverse_iterator(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (nb::inst_ready(self)) {
    Py_VISIT(nb::inst_ptr<LoaderIterator>(self)->owner.ptr());
    Py_VISIT(nb::inst_ptr<LoaderIterator>(self)->convert.ptr());
  }
  return 0;
}

PyType_Slot kLoaderSlots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse_loader)},
                              {Py_tp_clear, reinterpret_cast<void*>(clear_loader)},
                              {0, nullptr}};
PyType_Slot kIteratorSlots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse_iterator)}, {0, nullptr}};

constexpr const char* kDoc =
    "Reads, decodes and assembles batches ahead of your loop. One `for` over it is one epoch.\n\n"
    "A batch is a dict. Outputs are Tensors (rows, ...) or Ragged. \"__key__\" is a list of str.\n"
    "\"__valid__\" is a bool Tensor (rows,): False for padding and invalid rows. \"__source__\" (rows,)\n"
    "is the number of the source in a mixture. \"__present__\" has marks for outputs in `missing`.";

const char* init_doc() {
  static const std::string text = "dataset: a path, a Dataset, or a Mixture.\n" + options_for_python("") +
                                  "docs/reference/options.md describes them in full. Raises Error.";
  return text.c_str();
}

// For the page of options: heading, Python name ("read_options.engine", or ""), Python declaration, name in
// LoaderOptions (or ""), meaning, and when to change it.
nb::list option_table() {
  nb::list table;
  for (const LoaderOption& option : loader_options()) {
    const bool in_python = option.door != Door::cpp;
    const PythonValue value = python_value(option);
    const std::string declared =
        in_python ? std::string(option.keyword()) + ": " + value.type + " = " + value.value : "";
    table.append(nb::make_tuple(text(option.group), text(in_python ? option.name : ""), text(declared),
                                text(option.door == Door::python ? "" : option.name), text(option.meaning),
                                text(option.change)));
  }
  return table;
}

// For the same page: a flag of the command, and the option of LoaderOptions that it sets.
nb::list option_flags() {
  nb::list flags;
  for (const LoaderOption& option : loader_options())
    if (option.door != Door::python) flags.append(nb::make_tuple(text(flag_of(option)), text(option.name)));
  return flags;
}

void bind_loader_class(nb::module_& module) {
  static const std::string signature =
      "def __init__(self, dataset: object, *, " + keywords_for_python(options_of_python("")) + ") -> None";
  nb::class_<PythonLoader>(module, "Loader", nb::is_weak_referenceable(), nb::type_slots(kLoaderSlots), kDoc)
      .def("__init__", construct, nb::arg("dataset"), nb::arg("options"), nb::sig(signature.c_str()), init_doc())
      .def(
          "__iter__", [](const nb::object& self) { return iterate(self, {}); },
          "Begins an epoch. Earlier iterators end.")
      .def("_iterate", iterate, nb::arg("convert"))
      .def(
          "__repr__",
          [](const nb::handle& self) {
            return text(nb::inst_ready(self) ? nb::cast<const PythonLoader&>(self).described()
                                             : "penstock.Loader(not made)");
          },
          nb::sig("def __repr__(self) -> str"))
      .def(
          "__len__", [](PythonLoader& self) { return self.use([](Loader& loader) { return loader.batches(); }); },
          "Batches of a full epoch on this rank. With a batching budget, of the current epoch.")
      .def_prop_ro(
          "epoch", [](PythonLoader& self) { return self.use([](Loader& loader) { return loader.epoch(); }); },
          "Epoch of the next batch.")
      .def_prop_ro(
          "dataset", [](PythonLoader& self) { return self.use([](Loader& loader) { return loader.dataset(); }); },
          "The dataset. For a mixture, it contains the samples of all sources.")
      .def("set_epoch", &PythonLoader::set_epoch, nb::arg("epoch"), "Moves to the first batch of that epoch.")
      .def("state_dict", state_dict, nb::sig("def state_dict(self) -> dict[str, typing.Any]"),
           "The position after the last batch that next() returned, as a small dict for JSON.")
      .def("load_state_dict", load_state_dict, nb::arg("state_dict"),
           "Moves to the position of a state. The next `for` resumes there.")
      .def(
          "at",
          [](PythonLoader& self, std::uint64_t epoch, std::uint64_t batch) {
            return delivered(self.use([&](Loader& loader) { return loader.at(epoch, batch); }));
          },
          nb::arg("epoch"), nb::arg("batch"), "Rebuilds any batch. The position does not change.")
      .def(
          "share", share, nb::arg("consumers"), nb::kw_only(), nb::arg("lag") = SharingOptions{}.lag,
          nb::arg("behind") = "wait", nb::arg("patience") = SharingOptions{}.patience,
          nb::sig("def share(self, consumers: int, *, lag: int = 8, behind: str = 'wait', patience: float = 30.0) -> "
                  "list[Loader]"),
          "Makes loaders at this position that build each batch once, for trainings in several threads. Options as in\n"
          "penstock.share(). This loader is not one of them.")
      .def("explain", explain, nb::arg("epoch"), nb::arg("batch"), nb::arg("row"),
           nb::sig("def explain(self, epoch: int, batch: int, row: int) -> dict[str, typing.Any]"),
           "The origin of a row: key, file and offset of each output, and the draws of every transform.")
      .def("stats", stats_of, nb::sig("def stats(self) -> penstock._stats.Stats"),
           "Counters, times and the cause of waits, as a dict. str() of it is a table.")
      .def(
          "metrics",
          [](PythonLoader& self, const std::string& prefix) { return stats_of(self).attr("metrics")(prefix); },
          nb::arg("prefix") = "penstock/", nb::sig("def metrics(self, prefix: str = 'penstock/') -> dict[str, float]"),
          "stats() as a flat dict of floats, for wandb, TensorBoard and Lightning's log_dict().")
      .def("gains", gains_of_loader, nb::sig("def gains(self) -> list[dict[str, typing.Any]]"),
           "Predicts the speed-up of other options from stats(): a list of dicts, best first.")
      .def("reset_stats", reset_stats, "Sets the counters and times of stats() to zero. Any thread may call it.")
      .def("mark_step", &PythonLoader::mark_step,
           "Ends a training step. steps() and traces then count from mark to mark.")
      .def(
          "steps", [](PythonLoader& self, const nb::object& schedule) { return to_python(self.steps(), schedule); },
          nb::arg("schedule") = nb::none(),
          nb::sig("def steps(self, schedule: Schedule | None = None) -> penstock._profile.steps.Steps"),
          "Time of each training step: data wait, compute and other. str() of it is a table.")
      .def("trace", trace, nb::arg("file"), nb::kw_only(), nb::arg("max_events") = TraceOptions{}.max_events,
           nb::arg("schedule") = nb::none(),
           nb::sig(
               "def trace(self, file: str | os.PathLike[str], *, max_events: int = 200000, schedule: Schedule | None = "
               "None) -> penstock._trace.Trace"),
           "Records the loader's threads for Perfetto: `with loader.trace(\"trace.json\"): ...`.")
      .def("end_trace", end_trace, nb::sig("def end_trace(self) -> dict[str, typing.Any]"),
           "Ends the trace: {\"file\", \"events\", \"dropped\"}.")
      .def("_tracing", &PythonLoader::tracing)
      .def("close", &PythonLoader::close, "Ends the threads. Batches stay valid.")
      .def(
          "__enter__", [](const nb::object& self) { return self; }, nb::sig("def __enter__(self) -> Loader"))
      .def("__exit__", [](PythonLoader& self, const nb::args&) { self.close(); });
}

}  // namespace

void bind_loader(nb::module_& module) {
  bind_schedule(module);
  bind_option_objects(module);
  bind_loader_class(module);
  nb::class_<LoaderIterator>(module, "LoaderIterator", nb::type_slots(kIteratorSlots), "The batches of one epoch.")
      .def(
          "__iter__", [](const nb::object& self) { return self; }, nb::sig("def __iter__(self) -> LoaderIterator"),
          "Returns the iterator itself.")
      .def(
          "__next__", next_batch, nb::sig("def __next__(self) -> typing.Any"),
          "Waits for the next batch: a dict, or the result of batch_transform. Other Python threads run meanwhile,\n"
          "and Ctrl-C ends the wait. Raises the Error of a worker, which names dataset, shard, key, field and offset.\n"
          "Raises Error: resource after `timeout`, or if you hold more batches than max_live_batches.");
  module.def(
      "option_table", option_table, nb::sig("def option_table() -> list[tuple[str, str, str, str, str, str]]"),
      "The options of Loader: heading, Python name, Python declaration, C++ name, meaning, and when to change it.");
  module.def("option_flags", option_flags, nb::sig("def option_flags() -> list[tuple[str, str]]"),
             "Flags of the command that set options of a loader, each with the name of its option.");
  module.def("counter_table", counter_table,
             nb::sig("def counter_table() -> list[tuple[str, str, str, str, str, str]]"),
             "The counters of Loader.stats(): group, name, unit, rule, meaning, OpenMetrics family.");
  module.def("openmetrics", metrics_text, nb::arg("figures"), nb::arg("labels"),
             nb::sig("def openmetrics(figures: bytes, labels: list[tuple[str, str]]) -> str"));
  module.def(
      "slow_rank",
      [](const std::vector<std::pair<std::uint64_t, double>>& ranks) {
        std::vector<RankWait> waits;
        for (const auto& [rank, wait] : ranks) waits.push_back({.rank = rank, .data_wait = wait});
        const SlowRank slow = slow_rank(waits);
        return nb::make_tuple(slow.which, text(slow.text));
      },
      nb::arg("ranks"), nb::sig("def slow_rank(ranks: list[tuple[int, float]]) -> tuple[int | None, str]"));
  module.def(
      "sharing_recipe",
      [](const std::string& name) -> nb::object {
        std::optional<std::string> recipe;
        {
          const nb::gil_scoped_release released;
          recipe = recipe_of_sharing(name);
        }
        if (!recipe) return nb::none();
        return nb::bytes(recipe->data(), recipe->size());
      },
      nb::arg("name"), nb::sig("def sharing_recipe(name: str) -> bytes | None"));
  module.def("close_all", &PythonLoader::close_all,
             "Closes every loader of this process. Called when the program ends.");
}

}  // namespace penstock::python
