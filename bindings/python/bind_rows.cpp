#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <penstock/base/error.hpp>

#include "bind.hpp"
#include "door.hpp"
#include "row_program.hpp"
#include "tensor.hpp"

namespace penstock::python {
namespace {

using Value = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
using Row = nb::ndarray<nb::c_contig, nb::device::cpu>;

void construct(RowProgram* self, const nb::str& output, const Chain& chain, std::size_t place, const std::string& dtype,
               const std::vector<std::int64_t>& shape, bool image, bool items) {
  const std::optional<DType> known = dtype_named(dtype);
  const std::string name = bytes_of(output);
  if (!known)
    throw Error::shape("output \"" + name + "\" = " + to_string(chain) + ": no step takes " + dtype +
                       ", which the function before it gives");
  using Kind = RowProgram::Kind;
  const Kind kind = image ? Kind::image : items ? Kind::items : Kind::any;
  through_door({.field = name}, [&] { new (self) RowProgram(name, chain, place, *known, shape, kind); });
}

void run(RowProgram& self, const Value& value, const Row& row, std::uint64_t seed, std::uint64_t epoch,
         std::uint64_t draws, const nb::str& key) {
  const std::string named = bytes_of(key);
  const nb::gil_scoped_release released;
  through_door({.key = named, .field = self.output().name}, [&] {
    self.run({static_cast<const std::byte*>(value.data()), value.nbytes()},
             {static_cast<std::byte*>(row.data()), row.nbytes()},
             {.seed = seed, .epoch = epoch, .sample = draws, .key = named});
  });
}

Tensor copied(const Value& array, const std::string& dtype) {
  Shape shape;
  for (std::size_t i = 0; i < array.ndim(); ++i) shape.push_back(static_cast<std::int64_t>(array.shape(i)));
  const std::optional<DType> known = dtype_named(dtype);
  if (!known) throw Error::shape("no Tensor holds elements of " + dtype);
  return Tensor(nullptr, array.data(), *known, std::move(shape)).copy();
}

}  // namespace

void bind_rows(nb::module_& module) {
  nb::class_<RowProgram>(module, "RowProgram",
                         "The steps of a chain behind a function, for arrays of one dtype and shape.")
      .def("__init__", construct, nb::arg("output"), nb::arg("chain"), nb::arg("place"), nb::arg("dtype"),
           nb::arg("shape"), nb::arg("image"), nb::arg("items"))
      .def_prop_ro("dtype", [](const RowProgram& self) { return std::string(name(self.output().dtype)); })
      .def_prop_ro(
          "shape", [](const RowProgram& self) { return nb::tuple(nb::cast(self.row_shape())); },
          nb::sig("def shape(self) -> tuple[int, ...]"))
      .def("run", run, nb::arg("value"), nb::arg("row"), nb::arg("seed"), nb::arg("epoch"), nb::arg("draws"),
           nb::arg("key"),
           nb::sig("def run(self, value: typing.Any, row: typing.Any, seed: int, epoch: int, draws: int, key: str) -> "
                   "None"));
  module.def(
      "pad_of",
      [](const Chain& chain) -> std::optional<std::tuple<std::int64_t, std::int64_t, double>> {
        const auto* pad = chain.steps.empty() ? nullptr : chain.steps.back().as<step::PadItems>();
        if (pad == nullptr) return std::nullopt;
        return std::tuple(pad->length, pad->multiple_of, pad->value);
      },
      nb::arg("chain"), "Length, multiple_of and value of the pad() that ends a chain; None where none does.");
  module.def(
      "ragged_of",
      [](const Value& values, const Value& offsets, const std::string& dtype) {
        return Ragged{copied(values, dtype), copied(offsets, "int64")};
      },
      nb::arg("values"), nb::arg("offsets"), nb::arg("dtype"),
      nb::sig("def ragged_of(values: typing.Any, offsets: typing.Any, dtype: str) -> Ragged"),
      "A copy of NumPy's arrays: the items of all rows, and where each row begins.");
}

}  // namespace penstock::python
