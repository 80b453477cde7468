#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <nanobind/nanobind.h>

#include <formats/labels/emptiness.hpp>
#include <formats/places/address.hpp>
#include <pack/option_table.hpp>
#include <pack/pack_source.hpp>
#include <penstock/error.hpp>
#include <penstock/pack.hpp>

#include "bind.hpp"
#include "convert_result.hpp"
#include "interpreter.hpp"
#include "open_dataset.hpp"
#include "options/loader_options.hpp"
#include "options/set_option.hpp"

namespace penstock::python {
namespace {

// The options of the table that are members of ConvertOptions.
const std::vector<const PackOption*>& placed_options() {
  static const auto placed = [] {
    auto options = pack_options_of(kOfPack);
    std::erase_if(options,
                  [](const PackOption* each) { return std::holds_alternative<PackOption::ByHand>(each->member); });
    return options;
  }();
  return placed;
}

void make_options(ConvertOptions* self, const nb::kwargs& given) {
  ConvertOptions options;
  for (const auto& [name, value] : given) {
    const auto& known = placed_options();
    const auto found = std::ranges::find(known, nb::cast<std::string>(name), &PackOption::name);
    if (found == known.end() || (value.is_none() && !takes_none(python_value(**found)))) misfit();
    if (!value.is_none()) set_option(options, **found, value);
  }
  new (self) ConvertOptions(std::move(options));
}

constexpr std::pair<PackApi, const char*> kApis[] = {
    {kOfPack, "pack"}, {kOfWriter, "Writer"}, {kOfClusters, "clusters"}, {kOfCommand, "command"}};

// Each API, with the help for its options in Python.
nb::list pack_help() {
  nb::list help;
  for (const auto& [api, name] : kApis) help.append(nb::make_tuple(name, text(pack_options_for_python(api))));
  return help;
}

// For the reference page: heading, option, Python declaration, APIs separated by commas, and meaning.
nb::list pack_option_table() {
  nb::list table;
  for (const PackOption& option : pack_options()) {
    std::string apis;
    for (const auto& [api, name] : kApis)
      if ((option.apis & api) != 0) apis += (apis.empty() ? "" : ",") + std::string(name);
    const auto [type, value] = python_value(option);
    table.append(nb::make_tuple(text(option.group), text(option.name), text(type + " = " + value), text(apis),
                                text(meaning_of(option))));
  }
  return table;
}

using Rank = std::optional<std::variant<std::uint32_t, std::string>>;

void take_rank(ConvertOptions& options, const Rank& rank) {
  if (!rank && options.world != 0) throw Error::invalid_argument("world requires rank");
  if (!rank) return;
  if (std::holds_alternative<std::uint32_t>(*rank) && options.world == 0)
    throw Error::invalid_argument("rank requires world, the number of ranks");
  LoaderOptions taken;  // set_rank() sets LoaderOptions, which have the same rank and world
  set_rank(taken, *rank, options.world == 0 ? std::nullopt : std::optional(options.world));
  options.rank = taken.rank;
  options.world = taken.world_size;
}

nb::dict pack_dataset(const Dataset& dataset, const std::filesystem::path& destination, const ConvertOptions& options,
                      const nb::object& progress) {
  require_something_to_pack(dataset);
  ConvertResult result;
  {
    const WithoutInterpreter released;
    result = convert(dataset, destination, options, teller(progress));
  }
  if (!result.renamed_key.empty())
    warn("shards have the same keys, so the name of the shard was added in front of each key: " + result.renamed_key);
  return summary(result);
}

nb::dict pack(nb::handle source, const std::filesystem::path& destination, ConvertOptions options, const Rank& rank,
              const nb::object& progress, const nb::object& unpacking) {
  take_rank(options, rank);
  std::filesystem::path path;
  if (!nb::try_cast(source, path)) return pack_dataset(open_dataset(source), destination, options, progress);
  std::optional<PackSource> unpacked;
  {
    const WithoutInterpreter released;
    const auto told = teller(unpacking);
    unpacked.emplace(path, destination, options, [&](std::uint64_t done, std::uint64_t total) {
      return told({.samples = done, .total_samples = total, .bytes = done});
    });
  }
  try {
    const Dataset dataset = open_telling([&](const OpenProgress& opening) { return unpacked->open({}, opening); });
    require_something_to_pack(dataset);
    for (const std::string& warning : warnings_of(dataset)) warn(shown_place(path) + ": " + warning);
    return pack_dataset(dataset, destination, unpacked->options(options), progress);
  } catch (const Error& error) {
    throw unpacked->named(error);
  }
}

nb::dict finish_pack(const std::filesystem::path& destination, bool overwrite, std::filesystem::path report) {
  JoinedDataset joined;
  {
    const WithoutInterpreter released;
    joined = finish_convert(destination, {.overwrite = overwrite, .report = std::move(report)});
  }
  nb::dict told;
  told["samples"] = joined.samples;
  told["bytes"] = joined.bytes;
  told["skipped"] = joined.skipped;
  told["shards"] = joined.shards;
  return told;
}

}  // namespace

void bind_convert(nb::module_& module) {
  static const std::string signature = "def __init__(self, *, " + keywords_for_python(placed_options()) + ") -> None";
  nb::class_<ConvertOptions>(module, "PackOptions", "The options of penstock.pack().")
      .def("__init__", make_options, nb::sig(signature.c_str()));
  module.def("pack", pack, nb::arg("source"), nb::arg("destination"), nb::arg("options"), nb::kw_only(),
             nb::arg("rank") = nb::none(), nb::arg("progress") = nb::none(), nb::arg("unpacking") = nb::none());
  module.def("pack_help", pack_help, nb::sig("def pack_help() -> list[tuple[str, str]]"));
  module.def("pack_option_table", pack_option_table,
             nb::sig("def pack_option_table() -> list[tuple[str, str, str, str, str]]"));
  module.def("finish_pack", finish_pack, nb::arg("destination"), nb::kw_only(), nb::arg("overwrite") = false,
             nb::arg("report") = std::filesystem::path());
}

}  // namespace penstock::python
