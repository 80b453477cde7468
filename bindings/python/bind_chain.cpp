#include "bind_chain.hpp"

#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/operators.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <penstock/base/error.hpp>
#include <penstock/transforms/chain/chain.hpp>

#include "bind_step.hpp"

namespace penstock::python {
namespace {

// What is made in C++ cannot be taken to another process; every other step is its text.
std::string step_state(const Step& step) {
  if (std::holds_alternative<step::OwnDecode>(step) || std::holds_alternative<step::OwnTransform>(step)) {
    throw Error::unsupported("a chain with " + to_string(step) + " cannot be pickled");
  }
  return to_string(step);
}

nb::tuple chain_state(const Chain& chain) {
  nb::list steps;
  for (const Step& step : chain.steps) steps.append(step_state(step));
  return nb::make_tuple(chain.sources, chain.followed, chain.misuse, nb::tuple(steps));
}

Chain chain_from_state(const nb::tuple& state) {
  Chain chain{.sources = nb::cast<std::vector<std::string>>(state[0]),
              .followed = nb::cast<std::optional<std::string>>(state[1]),
              .steps = {},
              .misuse = nb::cast<std::string>(state[2])};
  for (const nb::handle step : nb::cast<nb::tuple>(state[3])) {
    chain.steps.push_back(parse_chain(nb::cast<std::string>(step)).steps.at(0));
  }
  return chain;
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

Chain sample_points(std::int64_t points, const std::string& method, double size, const std::string& voxel,
                    std::int64_t slices, std::int64_t blocks, const std::string& few) {
  return points::sample(points, method, {.size = size, .voxel = voxel, .slices = slices, .blocks = blocks, .few = few});
}

void bind_points(nb::module_ module) {
  module.doc() =
      "Chains for point clouds (LAS, LAZ, PLY, PCD, OFF, text) and arrays of points (N, 3 or more columns). They give\n"
      "float32 (K, C): x, y, z relative to an origin, then the attributes asked for. The origins of the first such\n"
      "output stand in the batch as \"__origin__\": float64 (3,) a row.";
  module.def("decode", points::decode, nb::arg("attributes") = std::vector<std::string>{}, nb::kw_only(),
             nb::arg("columns") = 0,
             "First in a chain: `attributes` follow x, y, z as further columns. `columns`: float32 numbers of a point\n"
             "in .bin scans, which do not tell (KITTI: 4).");
  module.def(
      "sample", sample_points, nb::arg("points"), nb::arg("method") = "random", nb::kw_only(), nb::arg("size") = 0.0,
      nb::arg("voxel") = "centroid", nb::arg("slices") = 16, nb::arg("blocks") = 0, nb::arg("few") = "repeat",
      "So many points, fresh for every (seed, epoch, sample). method: \"random\", \"blocks\" (of neighbours: cheap,\n"
      "biased), \"fps\", \"voxel\", \"poisson\", \"stratified\", \"inverse_density\". size: voxel edge, Poisson "
      "distance\n"
      "or cell of the density. few: what becomes of clouds with fewer points: \"repeat\", \"ragged\", \"raise\".\n"
      "Of clouds packed in progressive order, the next run of stored points, another one each epoch.");
  module.def("voxel", points::voxel, nb::arg("size"), nb::arg("mode") = "centroid",
             "One point for each occupied cell: \"centroid\", \"first\" or \"random\". A Ragged.");
  module.def("poisson", points::poisson, nb::arg("distance"),
             "No two points closer, and none could be added. A Ragged.");
  bind_step<step::Surface>(module);
  bind_step<step::Finite>(module);
  bind_step<step::Center>(module);
  bind_step<step::UnitSphere>(module);
  bind_step<step::UnitBox>(module);
  bind_step<step::Scale>(module);
  module.def("rotate", points::rotate, nb::arg("about") = "z",
             "By a random angle about \"z\", or any rotation (\"free\"). Attributes nx, ny, nz turn too.");
  bind_step<step::Jitter>(module);
  bind_step<step::RandomScale>(module);
  bind_step<step::Shift>(module);
  bind_step<step::Dropout>(module);
  bind_step<step::ShufflePoints>(module);
  bind_step<step::Pad>(module);
  bind_step<step::ChannelsFirst>(module);
  module.def(
      "cast", [](const std::string& dtype) { return points::cast(dtype_of(dtype)); }, nb::arg("dtype"),
      "\"float32\", \"float16\", \"bfloat16\" or \"float64\".");
  module.def(
      "attribute", points::attribute, nb::arg("name"),
      "One attribute of each point in its stored dtype, after follow(\"OUTPUT\") that of the same points: (K,).");
  bind_step<step::Mask>(module);
  bind_step<step::Origin>(module);
}

}  // namespace

DType dtype_of(const std::string& spelled) {
  const auto dtype = dtype_named(spelled);
  if (!dtype) throw Error::invalid_argument("there is no dtype " + spelled);
  return *dtype;
}

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
  module.def("label", label, nb::arg("classes") = 0,
             "A class index or other single integer: int64 scalar. From cls, txt, json or an array. With `classes`:\n"
             "float32 (classes,), 1 at the class and 0 elsewhere.");
  module.def("raw", raw, "Undecoded bytes: a Ragged of uint8.");
  module.def(
      "boxes", boxes,
      "After follow(): (n, 4) float32 x0 y0 x1 y1 in output pixels, clipped to the output; a Ragged. Boxes that\n"
      "end up empty stay, with zero area.");
  module.def("key_points", key_points, "After follow(): (n, 2) float32 x y in output pixels, not clipped; a Ragged.");
  bind_image_chain(module.def_submodule("image"));
  bind_array(module.def_submodule("array"));
  bind_points(module.def_submodule("points"));
}

}  // namespace penstock::python
