#include <new>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/operators.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <penstock/formats/error.hpp>
#include <penstock/transforms/chain.hpp>

#include "bind.hpp"
#include "chain_state.hpp"

namespace penstock::python {
namespace {

using HeightWidth = std::pair<std::int64_t, std::int64_t>;
using Size = std::variant<std::int64_t, HeightWidth>;

DType dtype_of(const std::string& spelled) {
  const auto dtype = dtype_named(spelled);
  if (!dtype) throw Error::invalid_argument("there is no dtype " + spelled);
  return *dtype;
}

Chain random_resized_crop(const Size& size, std::pair<double, double> scale, std::pair<double, double> ratio) {
  if (const auto* side = std::get_if<std::int64_t>(&size)) return image::random_resized_crop(*side, scale, ratio);
  const auto& [height, width] = std::get<HeightWidth>(size);
  return image::random_resized_crop(height, width, scale, ratio);
}

Chain resize(const Size& size) {
  if (const auto* short_side = std::get_if<std::int64_t>(&size)) return image::resize(*short_side);
  const auto& [height, width] = std::get<HeightWidth>(size);
  return image::resize(height, width);
}

void bind_image(nb::module_ module) {
  module.doc() = "Chains for images (JPEG, PNG, uint8 arrays). The layout of what they give is (C, H, W).";
  module.def("decode", image::decode, "Decoded pixels: uint8 (C, H, W).");
  module.def("random_resized_crop", random_resized_crop, nb::arg("size"), nb::kw_only(),
             nb::arg("scale") = std::pair(0.08, 1.0), nb::arg("ratio") = std::pair(3.0 / 4.0, 4.0 / 3.0),
             "A random box of `scale` of the area and `ratio` (width / height, log-uniform), resampled to `size`:\n"
             "int for a square, or (height, width). uint8 (C, H, W), as torchvision's RandomResizedCrop.");
  module.def("resize", resize, nb::arg("size"),
             "Antialiased bilinear. int: the short side, keeping the aspect ratio; (height, width): exactly that.");
  module.def("center_crop", image::center_crop, nb::arg("size"), "The square of that many pixels in the middle.");
  module.def("random_flip", image::random_flip, nb::arg("probability") = 0.5, "Left and right.");
  module.def("normalize", image::normalize, nb::arg("mean"), nb::arg("stddev"),
             "out[c,y,x] = (in[y,x,c] / 255 - mean[c]) / stddev[c]: float32 (C, H, W), as torchvision's ToTensor and\n"
             "Normalize. The loader raises Error: shape, unless both have as many entries as the image has channels.");
  module.def(
      "cast", [](const std::string& dtype) { return image::cast(dtype_of(dtype)); }, nb::arg("dtype"),
      "\"float32\", \"float16\", \"bfloat16\" or \"uint8\"; masks that follow an image take any dtype.");
  module.def("channels_last", image::channels_last, "(H, W, C) in place of (C, H, W).");
}

void bind_array(nb::module_ module) {
  module.doc() = "Chains for arrays (.npy, rows of HDF5).";
  module.def("decode", array::decode, "Elements as stored.");
  module.def("random_window", array::random_window, nb::arg("rows"),
             "That many consecutive rows at a random place; only those are read.");
  module.def(
      "cast", [](const std::string& dtype) { return array::cast(dtype_of(dtype)); }, nb::arg("dtype"),
      "To any dtype; to integers by truncation, and what is out of range becomes the nearest.");
}

}  // namespace

void bind_chain(nb::module_& module) {
  nb::class_<Chain>(module, "Chain",
                    "What happens to one output, from the stored field to the batch: steps joined by |. A mistake in\n"
                    "composing one is told by the loader that is given it, with the output's name.")
      .def(nb::self | nb::self)
      .def("__getstate__", chain_state)
      .def("__setstate__", [](Chain& self, const nb::tuple& state) { new (&self) Chain(chain_from_state(state)); })
      .def("__repr__", [](const Chain& self) { return text(to_string(self)); });
  module.def("field", field, nb::arg("alternatives"),
             "Begins a chain that reads another field than its output's name: \"jpg\", or \"jpg|png|webp\" for\n"
             "whichever of them a sample has.");
  module.def("follow", follow, nb::arg("output"),
             "Applies the geometry drawn for another output: masks (nearest), boxes() and key_points() move with\n"
             "their image.");
  module.def("label", label, "A class index or other single integer: int64 scalar. From cls, txt, json or an array.");
  module.def("raw", raw, "Undecoded bytes: a Ragged of uint8.");
  module.def(
      "boxes", boxes,
      "After follow(): (n, 4) float32 x0 y0 x1 y1 in output pixels, clipped to the output; a Ragged. Boxes that\n"
      "end up empty stay, with zero area.");
  module.def("key_points", key_points, "After follow(): (n, 2) float32 x y in output pixels, not clipped; a Ragged.");
  bind_image(module.def_submodule("image"));
  bind_array(module.def_submodule("array"));
}

}  // namespace penstock::python
