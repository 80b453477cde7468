#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <penstock/loader/convert.hpp>

#include "bind.hpp"
#include "convert_result.hpp"
#include "interpreter.hpp"
#include "open_dataset.hpp"

namespace penstock::python {
namespace {

nb::dict pack(nb::handle source, const std::filesystem::path& destination, std::string format, std::uint64_t shard_size,
              std::uint64_t align, std::string labels, std::vector<std::string> classes, unsigned workers,
              const std::string& on_error, bool overwrite, bool resume, const nb::object& progress) {
  const ConvertOptions options{.format = std::move(format),
                               .shard_size = shard_size,
                               .align = align,
                               .labels = std::move(labels),
                               .classes = std::move(classes),
                               .workers = workers,
                               .overwrite = overwrite,
                               .resume = resume,
                               .skip_bad = skips_bad(on_error)};
  const Dataset dataset = open_dataset(source);
  ConvertResult result;
  {
    const WithoutInterpreter released;
    result = convert(dataset, destination, options, teller(progress));
  }
  return summary(result);
}

}  // namespace

void bind_convert(nb::module_& module) {
  const ConvertOptions defaults;
  module.def("pack", pack, nb::arg("source"), nb::arg("destination"), nb::kw_only(), nb::arg("format"),
             nb::arg("shard_size") = defaults.shard_size, nb::arg("align") = defaults.align, nb::arg("labels") = "",
             nb::arg("classes") = defaults.classes, nb::arg("workers") = 0, nb::arg("on_error") = "raise",
             nb::arg("overwrite") = false, nb::arg("resume") = false, nb::arg("progress") = nb::none());
}

}  // namespace penstock::python
