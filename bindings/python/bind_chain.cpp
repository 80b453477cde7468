#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <new>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>

#include <base/options/option_entry.hpp>
#include <penstock/chain.hpp>
#include <penstock/error.hpp>
#include <transforms/chain/renamed_words.hpp>
#include <transforms/chain/step_table.hpp>
#include <transforms/chain/window.hpp>

#include "bind.hpp"

namespace penstock::python {
namespace {

// The pickled form of a step is its text. A step with a C++ function has no text and cannot be pickled.
std::string step_state(const Step& step) {
  if (step.is<step::OwnDecode>() || step.is<step::OwnTransform>()) {
    throw Error::unsupported("a chain with " + to_string(step) + " cannot be pickled");
  }
  return to_string(step);
}

nb::tuple chain_state(const Chain& chain) {
  nb::list steps;
  for (const Step& step : chain.steps) steps.append(step_state(step));
  const std::string window = chain.window != nullptr ? to_string(*chain.window, {}) : std::string();
  return nb::make_tuple(chain.sources, chain.followed, chain.misuse, nb::tuple(steps), window);
}

Chain chain_from_state(const nb::tuple& state) {
  Chain chain{.sources = nb::cast<std::vector<std::string>>(state[0]),
              .followed = nb::cast<std::optional<std::string>>(state[1]),
              .steps = {},
              .misuse = nb::cast<std::string>(state[2])};
  if (const auto window = nb::cast<std::string>(state[4]); !window.empty()) chain.window = parse_chain(window).window;
  for (const nb::handle step : nb::cast<nb::tuple>(state[3])) {
    chain.steps.push_back(parse_chain(in_present_words(nb::cast<std::string>(step))).steps.at(0));
  }
  return chain;
}

// Adds a number, a word, or a list of them; true and false are words. Throws TypeError.
void add_value(Argument& argument, const nb::handle value) {
  double number = 0;
  if (nb::isinstance<nb::bool_>(value)) {
    argument.words.emplace_back(nb::cast<bool>(value) ? "true" : "false");
  } else if (nb::isinstance<nb::str>(value)) {
    argument.words.push_back(nb::cast<std::string>(value));
  } else if (nb::try_cast(value, number)) {
    argument.numbers.push_back(number);
  } else {
    raise_type_error("a value of type " + std::string(nb::type_name(value.type()).c_str()) +
                     " cannot be an argument of a step");
  }
}

void add_argument(std::vector<Argument>& arguments, const nb::handle value, std::string keyword) {
  Argument argument{.keyword = std::move(keyword), .none = value.is_none()};
  argument.list = !nb::isinstance<nb::str>(value) && nb::isinstance<nb::sequence>(value);
  if (argument.none) {
    // `none` already says so
  } else if (argument.list) {
    for (const nb::handle entry : value) add_value(argument, entry);
  } else {
    add_value(argument, value);
    if (!argument.words.empty()) argument.word = std::exchange(argument.words, {})[0];
  }
  arguments.push_back(std::move(argument));
}

Chain step_of(const StepTable& table, const nb::args& places, const nb::kwargs& keywords) {
  std::vector<Argument> arguments;
  for (const nb::handle value : places) add_argument(arguments, value, {});
  for (const auto& [keyword, value] : keywords) add_argument(arguments, value, nb::cast<std::string>(keyword));
  StepArguments given(table.name, std::move(arguments), StepArguments::From::values);
  try {
    return table.read(given);
  } catch (const Misfit& misfit) {
    raise_type_error(std::string(table.name) + "() " + misfit.cause());
  }
}

// "def pad(padding: int, *, fill: int = 0) -> penstock._penstock.Chain"
std::string signature_of(const StepTable& table, const std::string& name) {
  std::string list;
  bool by_place = true;
  for (const auto& parameter : table.parameters()) {
    if (!list.empty()) list += ", ";
    if (by_place && parameter->rules.keyword) list += "*, ";
    by_place &= !parameter->rules.keyword;
    list += std::string(parameter->name) + ": " + parameter->python_type();
    if (!parameter->rules.required) list += " = " + table.usual_python(*parameter);
  }
  return "def " + name + "(" + list + ") -> penstock._penstock.Chain";
}

// Describes the step, with a paragraph for each parameter: "max_ratio: highest ratio; 0 to 1."
std::string docstring_of(const StepTable& table) {
  constexpr std::size_t kMost = 110;  // bytes of a line
  std::string doc = lines_of(table.meaning, kMost, {});
  for (const auto& parameter : table.parameters()) {
    const std::string allowed = parameter->allowed();
    std::string line = std::string(parameter->name) + ": " + std::string(parameter->meaning);
    if (!parameter->rules.unit.empty()) line += ", in " + std::string(parameter->rules.unit);
    line += allowed == "any" ? "." : "; " + allowed + ".";
    doc += "\n" + lines_of(line, kMost, {});
  }
  return doc;
}

nb::object no_chain(const nb::handle& self, const nb::handle& other, bool before) {
  return nb::module_::import_("penstock._steps").attr("unjoined")(self, other, before);
}

nb::object joined(const nb::handle& self, const nb::handle& after) {
  if (!nb::isinstance<Chain>(after)) return no_chain(self, after, false);
  return nb::cast(nb::cast<const Chain&>(self) | nb::cast<const Chain&>(after));
}

// `before | self`: Python calls this only if `before` does not implement `|` with a chain.
nb::object joined_behind(const nb::handle& self, const nb::handle& before) {
  return no_chain(self, before, true);
}

void bind_steps(nb::module_& module) {
  std::map<std::string_view, nb::module_> modules{{"image", module.def_submodule("image")},
                                                  {"array", module.def_submodule("array")},
                                                  {"points", module.def_submodule("points")}};
  modules.at("image").doc() =
      "Chains for images (JPEG, PNG, uint8 arrays). The resulting layout is (C, H, W). Random draws depend\n"
      "only on seed, epoch and sample.";
  modules.at("array").doc() = "Chains for arrays (.npy, rows of HDF5).";
  modules.at("points").doc() =
      "Chains for point clouds (LAS, LAZ, PLY, PCD, OFF, text) and arrays of points (N, 3 or more columns).\n"
      "The result is float32 (K, C): x, y, z relative to an origin, then the requested attributes. The\n"
      "batch contains the origins of the first such output as \"__origin__\": float64 (3,) for each row.";
  for (const StepTable* table : step_tables()) {
    const std::size_t dot = table->name.find('.');
    nb::module_& home = dot == std::string_view::npos ? module : modules.at(table->name.substr(0, dot));
    const std::string name(table->name.substr(dot == std::string_view::npos ? 0 : dot + 1));
    home.def(
        name.c_str(),
        [table](const nb::args& places, const nb::kwargs& keywords) { return step_of(*table, places, keywords); },
        nb::sig(signature_of(*table, name).c_str()), docstring_of(*table).c_str());
  }
}

// Binds the traits of a step, for the Python part of a loader. Pickles are the only place where chains become text.
void bind_chain_step(nb::module_& module) {
  constexpr std::array<const char*, 4> kDomains{"any", "image", "array", "points"};
  nb::class_<Step> step(module, "ChainStep", "A step of a chain, and its traits.");
  step.def("__repr__", [](const Step& self) { return text(to_string(self)); });
  step.def_prop_ro("domain",
                   [=](const Step& self) { return kDomains.at(static_cast<std::size_t>(self.traits().domain)); });
  const std::pair<const char*, bool Traits::*> flags[] = {
      {"converts", &Traits::converts},
      {"leaves_places", &Traits::leaves_places},
      {"scales", &Traits::scales},
      {"channels_last", &Traits::channels_last},
      {"lists_items", &Traits::lists_items},
      {"drops_items", &Traits::drops_items},
      {"counts_items", &Traits::counts_items},
      {"marks_items", &Traits::marks_items},
  };
  for (const auto& [name, flag] : flags) {
    step.def_prop_ro(name, [flag](const Step& self) { return self.traits().*flag; });
  }
  step.def_prop_ro(
      "padding",
      [](const Step& self) -> std::optional<std::tuple<std::int64_t, std::int64_t, double>> {
        const std::optional<ItemPadding> padding = self.traits().padding;
        if (!padding) return std::nullopt;
        return std::tuple(padding->length, padding->multiple_of, padding->value);
      },
      "Length, multiple_of and value of pad(); None for other steps.");
  module.def(
      "steps_of", [](const Chain* chain) { return chain == nullptr ? std::vector<Step>() : chain->steps; },
      nb::arg("chain").none(), "The steps of a chain; an empty list for None.");
}

std::vector<double> offsets_of(nb::handle given) {
  std::vector<double> offsets;
  const bool listed = !nb::isinstance<nb::str>(given) && PyObject_HasAttrString(given.ptr(), "__iter__") != 0;
  if (listed) {
    double offset = 0;
    for (const nb::handle each : nb::iter(given)) {
      if (PyBool_Check(each.ptr()) != 0 || !nb::try_cast(each, offset)) {
        raise_type_error("offsets must be numbers, not " + shown(each));
      }
      offsets.push_back(offset);
    }
    return offsets;
  }
  raise_type_error(
      "offsets must be a list with a number for each step of a row, such as range(-3, 1) for the row's own sample and "
      "the three before it, not " +
      shown(given));
}

}  // namespace

void bind_chain(nb::module_& module) {
  nb::class_<Chain>(
      module, "Chain",
      "The steps from a stored field to an output of the batch, joined by |. The loader reports a mistake in a chain,\n"
      "with the name of the output.")
      .def("__or__", joined, nb::arg("after").none(), nb::sig("def __or__(self, after: Chain, /) -> Chain"),
           "Returns a chain with the steps of `after` appended.")
      .def("__ror__", joined_behind, nb::arg("before").none(),
           nb::sig("def __ror__(self, before: typing.Any, /) -> typing.NoReturn"))
      .def("__getstate__", chain_state)
      .def("__setstate__", [](Chain& self, const nb::tuple& state) { new (&self) Chain(chain_from_state(state)); })
      .def("__repr__", [](const Chain& self) { return text(to_string(self)); });
  module.def(
      "field", field, nb::arg("alternatives"),
      "Begins a chain that reads a field other than the output's name: \"jpg\", or \"jpg|png|webp\" for\n"
      "the first of these fields that a sample has. \"json:weather\" is the member \"weather\" of the objects in a\n"
      "JSON field.");
  module.def(
      "window",
      [](const std::string& field, nb::handle offsets, std::optional<std::string> group, const std::string& edge,
         std::optional<std::string> order_by, std::optional<std::string> at) {
        return window(field, {.offsets = offsets_of(offsets),
                              .group = group.value_or(""),
                              .edge = edge,
                              .order_by = order_by.value_or(""),
                              .at = at.value_or("")});
      },
      nb::arg("field") = "", nb::kw_only(), nb::arg("offsets"), nb::arg("group") = nb::none(), nb::arg("edge") = "pad",
      nb::arg("order_by") = nb::none(), nb::arg("at") = nb::none(),
      nb::sig("def window(field: str = '', *, offsets: collections.abc.Iterable[float], group: str | None = None, "
              "edge: str = 'pad', order_by: str | None = None, at: str | None = None) -> penstock._penstock.Chain"),
      "Begins a chain whose rows are several samples each, (offsets, ...): frames, sweeps, actions. The chain\n"
      "draws once for all steps of a row. follow() applies the same window to other outputs.\n"
      "field: like the argument of field(). The default is the name of the output.\n"
      "offsets: a number for each step. The row's own sample is 0. Whole numbers, or, with `at`, numbers in its\n"
      "unit.\n"
      "group: a field (\"episode\", \"json:episode\"), or a regular expression for keys. Its first group (or whole\n"
      "match, if it has no group) names the group of a sample. By default, all samples are one group. No row\n"
      "spans two groups.\n"
      "edge: for steps outside the group, \"pad\" repeats the group's nearest step. \"drop\" leaves out the sample.\n"
      "order_by: a field with a number that orders the samples of a group. The default is the order of the\n"
      "dataset.\n"
      "at: a field with a number. A step is the last sample whose number is at most the row's number plus the\n"
      "offset.");
  module.def("follow", follow, nb::arg("output"),
             "Applies the geometry drawn for another output: masks (nearest), boxes() and keypoints() move with\n"
             "their image.");
  bind_steps(module);
  bind_chain_step(module);
}

}  // namespace penstock::python
