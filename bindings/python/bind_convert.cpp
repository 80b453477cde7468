#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <penstock/formats/error.hpp>
#include <penstock/loader/convert.hpp>

#include "bind.hpp"
#include "convert_result.hpp"
#include "interpreter.hpp"
#include "loader_options.hpp"
#include "open_dataset.hpp"

namespace penstock::python {
namespace {

using Rank = std::optional<std::variant<std::uint32_t, std::string>>;

void take_rank(ConvertOptions& options, const Rank& rank, std::optional<std::uint32_t> world) {
  if (!rank && world) throw Error::invalid_argument("world is given, but no rank");
  if (!rank) return;
  if (std::holds_alternative<std::uint32_t>(*rank) && !world)
    throw Error::invalid_argument("a rank needs world, the number of ranks");
  LoaderOptions taken;  // whose rank and world are spelled alike
  set_rank(taken, *rank, world);
  options.rank = taken.rank;
  options.world = taken.world;
  if (options.world == 0) throw Error::invalid_argument("world is 0");
}

nb::dict pack(nb::handle source, const std::filesystem::path& destination, std::string format, std::uint64_t shard_size,
              std::uint64_t align, std::string labels, std::vector<std::string> classes, const std::string& jpeg,
              std::int64_t max_side, const nb::object& decode, const std::string& presample, const std::string& order,
              const std::string& attributes, unsigned workers, const std::string& on_error, bool overwrite, bool resume,
              std::filesystem::path report, const Rank& rank, std::optional<std::uint32_t> world,
              const nb::object& progress) {
  ConvertOptions options{.format = std::move(format),
                         .shard_size = shard_size,
                         .align = align,
                         .labels = std::move(labels),
                         .classes = std::move(classes),
                         .recoding = {.jpeg = jpeg_recoding(jpeg, max_side),
                                      .clouds = cloud_recoding(presample, order, attributes),
                                      .pixels = pixels_of(decode)},
                         .workers = workers,
                         .overwrite = overwrite,
                         .resume = resume,
                         .skip_bad = skips_bad(on_error),
                         .report = std::move(report)};
  take_rank(options, rank, world);
  const Dataset dataset = open_dataset(source);
  ConvertResult result;
  {
    const WithoutInterpreter released;
    result = convert(dataset, destination, options, teller(progress));
  }
  return summary(result);
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
  const ConvertOptions defaults;
  module.def("pack", pack, nb::arg("source"), nb::arg("destination"), nb::kw_only(), nb::arg("format"),
             nb::arg("shard_size") = defaults.shard_size, nb::arg("align") = defaults.align, nb::arg("labels") = "",
             nb::arg("classes") = defaults.classes, nb::arg("jpeg") = "keep", nb::arg("max_side") = 0,
             nb::arg("decode") = nb::none(), nb::arg("presample") = "", nb::arg("order") = "keep",
             nb::arg("attributes") = "none", nb::arg("workers") = 0, nb::arg("on_error") = "raise",
             nb::arg("overwrite") = false, nb::arg("resume") = false, nb::arg("report") = std::filesystem::path(),
             nb::arg("rank") = nb::none(), nb::arg("world") = nb::none(), nb::arg("progress") = nb::none());
  module.def("finish_pack", finish_pack, nb::arg("destination"), nb::kw_only(), nb::arg("overwrite") = false,
             nb::arg("report") = std::filesystem::path());
}

}  // namespace penstock::python
