#include <new>
#include <string>

#include <nanobind/nanobind.h>
#include <nanobind/operators.h>

#include <penstock/mix.hpp>
#include <transforms/chain/renamed_words.hpp>

#include "bind.hpp"

namespace penstock::python {
namespace {

Mix checked(Mix mix) {
  check(mix);
  return mix;
}

}  // namespace

void bind_mix(nb::module_& module) {
  nb::class_<Mix>(module, "Mix",
                  "How the rows of a batch are mixed; made by mixup() and cutmix(), given to Loader as `mix`.")
      .def("__getstate__", [](const Mix& self) { return to_string(self); })
      .def("__setstate__",
           [](Mix& self, const std::string& state) { new (&self) Mix(parse_mix(in_present_words(state))); })
      .def(nb::self == nb::self, nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__", [](const Mix& self) { return nb::hash(nb::cast(to_string(self))); })
      .def("__repr__", [](const Mix& self) { return to_string(self); });
  module.def(
      "mixup", [](double alpha, std::int64_t num_classes) { return checked(mixup(alpha, num_classes)); },
      nb::arg("alpha") = 1.0, nb::kw_only(), nb::arg("num_classes"),
      "Each row becomes x times itself and 1 - x times the row before it, images (floating point) and labels alike,\n"
      "x drawn for each batch from Beta(alpha, alpha). Labels become float32 (rows, num_classes). As torchvision's "
      "MixUp.");
  module.def(
      "cutmix", [](double alpha, std::int64_t num_classes) { return checked(cutmix(alpha, num_classes)); },
      nb::arg("alpha") = 1.0, nb::kw_only(), nb::arg("num_classes"),
      "In each image stands a box of the one before it, and labels are mixed by its area; for each batch the area is\n"
      "drawn from Beta(alpha, alpha), and the place. Labels become float32 (rows, num_classes). As torchvision's "
      "CutMix.");
}

}  // namespace penstock::python
