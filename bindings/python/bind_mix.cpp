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
  nb::class_<Mix>(module, "Mix", "A way to mix the rows of a batch. mixup() and cutmix() make it, for Loader(mix=...).")
      .def("__getstate__", [](const Mix& self) { return to_string(self); })
      .def("__setstate__",
           [](Mix& self, const std::string& state) { new (&self) Mix(parse_mix(in_present_words(state))); })
      .def(nb::self == nb::self, nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__", [](const Mix& self) { return nb::hash(nb::cast(to_string(self))); })
      .def("__repr__", [](const Mix& self) { return to_string(self); });
  module.def(
      "mixup", [](double alpha, std::int64_t num_classes) { return checked(mixup(alpha, num_classes)); },
      nb::arg("alpha") = 1.0, nb::kw_only(), nb::arg("num_classes"),
      "Replaces each row by x times the row plus 1 - x times the row before it. Mixes floating-point images\n"
      "and labels alike. Each batch draws x from Beta(alpha, alpha). Labels become float32 (rows,\n"
      "num_classes). Like torchvision's MixUp.");
  module.def(
      "cutmix", [](double alpha, std::int64_t num_classes) { return checked(cutmix(alpha, num_classes)); },
      nb::arg("alpha") = 1.0, nb::kw_only(), nb::arg("num_classes"),
      "Pastes a box from the row before into each image, and mixes labels by the box's area. Each batch\n"
      "draws the area from Beta(alpha, alpha), and the position. Labels become float32 (rows, num_classes).\n"
      "Like torchvision's CutMix.");
}

}  // namespace penstock::python
