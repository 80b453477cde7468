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
#include <pack/pack_source.hpp>
#include <penstock/error.hpp>
#include <penstock/pack.hpp>
#include <transforms/recode/cloud_recoder.hpp>
#include <transforms/recode/jpeg_recoder.hpp>
#include <transforms/recode/pixel_recoder.hpp>

#include "bind.hpp"
#include "convert_result.hpp"
#include "interpreter.hpp"
#include "open_dataset.hpp"
#include "options/loader_options.hpp"

namespace penstock::python {
namespace {

PackOnError pack_on_error_named(const std::string& given) {
  if (given == "raise") return PackOnError::raise;
  if (given == "skip") return PackOnError::skip;
  throw Error::invalid_argument("on_error is \"raise\" or \"skip\", not \"" + given + "\"");
}

// None or False, True ("same"), a number of pixels, or a text for pixel_recoding().
PixelRecoding pixels_of(const nb::object& decode) {
  if (decode.is_none() || decode.ptr() == Py_False) return {};
  if (decode.ptr() == Py_True) return pixel_recoding("same");
  const std::string text = nb::cast<std::string>(nb::str(decode));
  if (text.empty()) throw Error::invalid_argument("decode is empty; a size, or True");
  return pixel_recoding(text);
}

void make_options(ConvertOptions* self, std::string format, std::uint64_t shard_size, std::uint64_t align,
                  std::string labels, std::vector<std::string> classes, const std::string& jpeg, std::int64_t max_side,
                  const nb::object& decode, const std::string& presample, const std::string& order,
                  const std::string& attributes, unsigned workers, const std::string& on_error, bool overwrite) {
  new (self) ConvertOptions{.format = std::move(format),
                            .shard_size = shard_size,
                            .workers = workers,
                            .labels = std::move(labels),
                            .classes = std::move(classes),
                            .align = align,
                            .recoding = {.jpeg = jpeg_recoding(jpeg, max_side),
                                         .clouds = cloud_recoding(presample, order, attributes),
                                         .pixels = pixels_of(decode)},
                            .on_error = pack_on_error_named(on_error),
                            .overwrite = overwrite};
}

using Rank = std::optional<std::variant<std::uint32_t, std::string>>;

void take_rank(ConvertOptions& options, const Rank& rank, std::optional<std::uint32_t> world) {
  if (!rank && world) throw Error::invalid_argument("world is given, but no rank");
  if (!rank) return;
  if (std::holds_alternative<std::uint32_t>(*rank) && !world)
    throw Error::invalid_argument("a rank needs world, the number of ranks");
  LoaderOptions taken;  // whose rank and world are spelled alike
  set_rank(taken, *rank, world);
  options.rank = taken.rank;
  options.world = taken.world_size;
  if (options.world == 0) throw Error::invalid_argument("world is 0");
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
    warn("shards share keys, so each key has the name of its shard in front: " + result.renamed_key);
  return summary(result);
}

nb::dict pack(nb::handle source, const std::filesystem::path& destination, ConvertOptions options, bool resume,
              std::filesystem::path report, const Rank& rank, std::optional<std::uint32_t> world,
              const nb::object& progress, const std::filesystem::path& spool, const nb::object& unpacking) {
  options.resume = resume;
  options.report = std::move(report);
  options.spool = spool;
  take_rank(options, rank, world);
  std::filesystem::path path;
  if (!nb::try_cast(source, path)) return pack_dataset(open_dataset(source), destination, options, progress);
  std::optional<PackSource> unpacked;
  {
    const WithoutInterpreter released;
    const auto told = teller(unpacking);
    unpacked.emplace(path, destination, options, spool, [&](std::uint64_t done, std::uint64_t total) {
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
  nb::class_<ConvertOptions>(module, "PackOptions", "How a dataset is packed; the options of penstock.pack.")
      .def("__init__", make_options, nb::kw_only(), nb::arg("format"), nb::arg("shard_size"), nb::arg("align"),
           nb::arg("labels"), nb::arg("classes"), nb::arg("jpeg"), nb::arg("max_side"), nb::arg("decode").none(),
           nb::arg("presample"), nb::arg("point_order"), nb::arg("point_attributes"), nb::arg("workers"),
           nb::arg("on_error") = "raise", nb::arg("overwrite"));
  module.def("pack", pack, nb::arg("source"), nb::arg("destination"), nb::arg("options"), nb::kw_only(),
             nb::arg("resume") = false, nb::arg("report") = std::filesystem::path(), nb::arg("rank") = nb::none(),
             nb::arg("world") = nb::none(), nb::arg("progress") = nb::none(),
             nb::arg("temp_dir") = std::filesystem::path(), nb::arg("unpacking") = nb::none());
  module.def("finish_pack", finish_pack, nb::arg("destination"), nb::kw_only(), nb::arg("overwrite") = false,
             nb::arg("report") = std::filesystem::path());
}

}  // namespace penstock::python
