#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <penstock/error.hpp>
#include <transforms/output.hpp>
#include <transforms/program/program.hpp>

#include "bind.hpp"
#include "door.hpp"
#include "tensor.hpp"

namespace penstock::python {
namespace {

/// The steps of a chain after a Python function, compiled for the arrays that the function returns. Input and output
/// each have one dtype and shape. Thread-safe; concurrent calls take turns.
class RowProgram {
 public:
  /// Kind of the arrays, even if no step determines it.
  enum class Kind : std::uint8_t {
    any,
    image,  ///< uint8 (H, W, C)
    items,  ///< (n, ...), with a different n in each row
  };
  /// `place`: position of the chain's first step in the whole chain, which seeds its draws. Throws Error:
  /// invalid_argument or shape, naming `output`.
  RowProgram(const std::string& output, const Chain& chain, std::size_t place, DType dtype, const Shape& shape,
             Kind kind);
  RowProgram(RowProgram&&) = delete;

  const Output& output() const { return program_.outputs()[0]; }
  /// Shape of the resulting row; for ragged outputs including its items.
  Shape row_shape() const;
  /// Fills `row` from the elements in `value`. Throws as SlotFiller::fill() does.
  void run(std::span<const std::byte> value, std::span<std::byte> row, const SampleContext& sample);

 private:
  const FieldSchema schema_;
  const Chain chain_;
  const Program program_;
  std::mutex mutex_;  // guards filler_; never locked while holding the interpreter
  SlotFiller filler_;
};

// Prepends a step that draws nothing and takes the function's place. The other steps then keep their positions, which
// seed their draws.
Chain begun_as(RowProgram::Kind kind, const Chain& chain) {
  const bool begun = !chain.steps.empty() && chain.steps.front().is<step::Elements>();
  if (kind == RowProgram::Kind::image) return image::decode() | chain;
  if (kind == RowProgram::Kind::items && !begun) return array::decode({.ragged = true}) | chain;
  return chain;
}

Program compiled(const std::string& output, const Chain& chain, const FieldSchema& schema, std::size_t place) {
  const std::array<FieldChain, 1> chains{FieldChain{output, chain}};
  const std::vector<std::byte> zeros(element_count(schema.shape) * size_of(schema.dtype));
  const FieldCatalog catalog{.fields = {&schema, 1},
                             .first_value = [&](std::uint32_t, const Codec*) { return FirstBytes(zeros); }};
  return Program(chains, catalog, place);
}

RowProgram::RowProgram(const std::string& output, const Chain& chain, std::size_t place, DType dtype,
                       const Shape& shape, Kind kind)
    : schema_{.name = output, .codec = "raw", .dtype = dtype, .shape = shape, .fixed = true},
      chain_(begun_as(kind, chain)),
      program_(compiled(output, chain_, schema_, place - (chain_.steps.size() - chain.steps.size()))),
      filler_(program_) {
  if (this->output().ragged && kind != Kind::items)
    throw Error::invalid_argument("output \"" + output + "\" = " + to_string(chain) +
                                  ": steps after a Python function must return rows of one length");
}

Shape RowProgram::row_shape() const {
  Shape shape = output().shape;
  if (output().ragged) shape.insert(shape.begin(), schema_.shape.front());
  return shape;
}

void RowProgram::run(std::span<const std::byte> value, std::span<std::byte> row, const SampleContext& sample) {
  const std::scoped_lock lock(mutex_);
  filler_.begin(sample);
  filler_.fill(0, {.schema = &schema_, .bytes = value}, row);
}

using Value = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
using Row = nb::ndarray<nb::c_contig, nb::device::cpu>;

void construct_row_program(RowProgram* self, const nb::str& output, const Chain& chain, std::size_t place,
                           const std::string& dtype, const std::vector<std::int64_t>& shape, bool image, bool items) {
  const std::optional<DType> known = dtype_named(dtype);
  const std::string name = bytes_of(output);
  if (!known)
    throw Error::shape("output \"" + name + "\" = " + to_string(chain) + ": no step accepts " + dtype +
                       ", which the function before it returns");
  using Kind = RowProgram::Kind;
  const Kind kind = image ? Kind::image : items ? Kind::items : Kind::any;
  through_door({.field = name}, [&] { new (self) RowProgram(name, chain, place, *known, shape, kind); });
}

void run_row_program(RowProgram& self, const Value& value, const Row& row, std::uint64_t seed, std::uint64_t epoch,
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
  if (!known) throw Error::shape("a Tensor cannot hold elements of " + dtype);
  return Tensor(nullptr, array.data(), *known, std::move(shape)).copy();
}

}  // namespace

void bind_rows(nb::module_& module) {
  nb::class_<RowProgram>(module, "RowProgram",
                         "The steps of a chain after a Python function, for arrays of one dtype and shape.")
      .def("__init__", construct_row_program, nb::arg("output"), nb::arg("chain"), nb::arg("place"), nb::arg("dtype"),
           nb::arg("shape"), nb::arg("image"), nb::arg("items"))
      .def_prop_ro("dtype", [](const RowProgram& self) { return std::string(name(self.output().dtype)); })
      .def_prop_ro(
          "shape", [](const RowProgram& self) { return nb::tuple(nb::cast(self.row_shape())); },
          nb::sig("def shape(self) -> tuple[int, ...]"))
      .def("run", run_row_program, nb::arg("value"), nb::arg("row"), nb::arg("seed"), nb::arg("epoch"),
           nb::arg("draws"), nb::arg("key"),
           nb::sig("def run(self, value: typing.Any, row: typing.Any, seed: int, epoch: int, draws: int, key: str) -> "
                   "None"));
  module.def(
      "ragged_of",
      [](const Value& values, const Value& offsets, const std::string& dtype) {
        return Ragged{copied(values, dtype), copied(offsets, "int64")};
      },
      nb::arg("values"), nb::arg("offsets"), nb::arg("dtype"),
      nb::sig("def ragged_of(values: typing.Any, offsets: typing.Any, dtype: str) -> Ragged"),
      "Copies NumPy arrays: the items of all rows, and the offset of each row.");
}

}  // namespace penstock::python
