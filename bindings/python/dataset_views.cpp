#include "dataset_views.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include <penstock/base/error.hpp>
#include <penstock/formats/views/views.hpp>

#include "bind.hpp"
#include "interpreter.hpp"
#include "open_dataset.hpp"

namespace penstock::python {
namespace {

std::uint64_t count_of(std::int64_t count, const char* name) {
  if (count < 0)
    throw Error::invalid_argument(std::string(name) + " takes a number of samples, not " + std::to_string(count));
  return static_cast<std::uint64_t>(count);
}

Dataset concatenated_all(nb::handle datasets) {
  std::vector<Dataset> all;
  if (nb::isinstance<Dataset>(datasets) || nb::isinstance<nb::str>(datasets))
    throw nb::type_error("concat takes a list of datasets: concat([a, b])");
  for (const nb::handle each : nb::iter(datasets)) all.push_back(open_dataset(each));
  const WithoutInterpreter released;
  return concatenated(all);
}

nb::object sum_of(const Dataset& self, nb::handle other) {
  if (!nb::isinstance<Dataset>(other)) return nb::borrow(Py_NotImplemented);
  const std::array both{self, nb::cast<Dataset>(other)};
  return nb::cast(concatenated(both));
}

}  // namespace

std::string described(const Dataset& dataset) {
  if (dataset.is_view()) return "view of " + dataset.path().string() + ": " + dataset.about();
  return dataset.path().string() + ", " + std::string(dataset.format()) + ", " + std::to_string(dataset.size()) +
         " samples";
}

void define_views(nb::module_& module, nb::class_<Dataset>& dataset) {
  dataset
      .def(
          "take", [](const Dataset& self, std::int64_t count) { return take(self, count_of(count, "take")); },
          nb::arg("count"), "A view of the first `count` samples, or of all where there are fewer.")
      .def(
          "skip", [](const Dataset& self, std::int64_t count) { return skip(self, count_of(count, "skip")); },
          nb::arg("count"), "A view of all but the first `count` samples. Raises Error where none is left.")
      .def("__add__", sum_of, nb::arg("other").none(), nb::sig("def __add__(self, other: Dataset, /) -> Dataset"),
           "concat([self, other])");
  module.def("concat", concatenated_all, nb::arg("datasets"),
             nb::sig("def concat(datasets: collections.abc.Iterable[Dataset | str | os.PathLike]) -> Dataset"),
             "A view of the samples of all datasets (or paths of some), one behind the other; of any packings.\n\n"
             "Fields of one name become one, and a sample has those that it had. A dataset may come twice, and so may\n"
             "keys. Raises Error where class names differ: of those datasets that have any, all must have the same.");
}

}  // namespace penstock::python
