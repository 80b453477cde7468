#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <base/parallel_for.hpp>
#include <formats/io/file_bytes.hpp>
#include <penstock/error.hpp>
#include <transforms/program/chain_decoder.hpp>

#include "bind.hpp"
#include "dlpack.hpp"
#include "door.hpp"
#include "interpreter.hpp"
#include "tensor.hpp"

namespace penstock::python {
namespace {

using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Array = nb::ndarray<nb::c_contig, nb::device::cpu>;

/// One field of a sample: its bytes, or the file with them.
struct GivenValue {
  std::string name, extension, file;
  Bytes bytes;
};

GivenValue given_value_of(nb::handle field) {
  const auto parts = nb::cast<nb::tuple>(field);
  GivenValue value;
  value.name = bytes_of(nb::cast<nb::str>(parts[0]));
  value.extension = bytes_of(nb::cast<nb::str>(parts[1]));
  if (nb::isinstance<nb::str>(parts[2])) {
    value.file = bytes_of(nb::cast<nb::str>(parts[2]));
  } else {
    value.bytes = nb::cast<Bytes>(parts[2]);
  }
  return value;
}

/// The bytes of a sample's fields. Used without the interpreter.
class GivenSample {
 public:
  explicit GivenSample(std::span<const GivenValue> values) {
    for (const GivenValue& value : values) {
      std::span<const std::byte> bytes = std::as_bytes(std::span(value.bytes.data(), value.bytes.size()));
      if (!value.file.empty()) bytes = files_.emplace_back(value.file).bytes();
      fields_.push_back({.name = value.name, .extension = value.extension, .bytes = bytes});
    }
  }

  void decode(ChainDecoder& decoder, const SampleContext& sample, const ChainDecoder::Memory& memory) const {
    decoder.decode(fields_, sample, memory);
    for (const FileBytes& file : files_) file.require_whole();
  }

 private:
  std::vector<FileBytes> files_;
  std::vector<NamedBytes> fields_;
};

/// Asks Python for memory: memory(output, dtype, shape) returns an array. bfloat16 may also be uint16.
Array memory_of(const nb::callable& memory, std::size_t output, DType dtype, const Shape& shape) {
  const nb::object given = memory(output, text(name(dtype)), nb::tuple(nb::cast(shape)));
  Array array;
  if (!nb::try_cast(given, array, false)) {
    throw Error::invalid_argument("out must be a C-contiguous array in host memory, not " +
                                  shown(nb::type_name(given.type())));
  }
  const dlpack::DataType wanted = dlpack_type(dtype);
  const bool same =
      array.dtype().bits == wanted.bits &&
      (array.dtype().code == wanted.code || (dtype == DType::bf16 && array.dtype().code == dlpack::kUInt));
  const bool fits = same && array.ndim() == shape.size() &&
                    std::equal(shape.begin(), shape.end(), array.shape_ptr(),
                               [](std::int64_t ours, auto its) { return ours == static_cast<std::int64_t>(its); });
  if (fits) return array;
  throw Error::shape("out does not have the result's dtype and shape, " + std::string(name(dtype)) + " " +
                     to_string(shape));
}

std::span<std::byte> span_of(const Array& array) {
  return {static_cast<std::byte*>(array.data()), array.nbytes()};
}

void decode(ChainDecoder& self, const nb::list& fields, const nb::str& key, std::uint64_t seed,
            const nb::callable& memory) {
  std::vector<GivenValue> values;
  for (const nb::handle field : fields) values.push_back(given_value_of(field));
  const std::string named = bytes_of(key);
  std::vector<Array> arrays;  // destroyed with the interpreter
  WithoutInterpreter released;
  through_door({.key = named}, [&] {
    GivenSample(values).decode(self, {.seed = seed, .key = named},
                               [&](std::size_t output, DType dtype, const Shape& shape) {
                                 const nb::gil_scoped_acquire acquired;
                                 return span_of(arrays.emplace_back(memory_of(memory, output, dtype, shape)));
                               });
  });
  released.end();
}

/// The memory of a batch. The first row determines dtype and shape.
struct BatchRows {
  DType dtype = DType::u8;
  Shape shape = {};
  std::span<std::byte> memory = {};

  std::span<std::byte> row(std::uint64_t number, DType its_dtype, const Shape& its_shape) const {
    if (its_dtype != dtype || its_shape != shape) {
      throw Error::shape("gives " + std::string(name(its_dtype)) + " " + to_string(its_shape) + ", but value 0 gives " +
                         std::string(name(dtype)) + " " + to_string(shape) +
                         "; resize or crop to one size, or call decode() for each value");
    }
    const std::size_t bytes = element_count(shape) * size_of(dtype);
    return memory.subspan(number * bytes, bytes);
  }
};

void decode_rows(ChainDecoder& self, const nb::list& fields, std::uint64_t seed, unsigned workers,
                 const nb::callable& memory) {
  std::vector<GivenValue> values;
  for (const nb::handle field : fields) values.push_back(given_value_of(field));
  const auto context = [&](std::uint64_t number) {
    return ErrorContext{.key = values[number].file.empty() ? std::to_string(number) : values[number].file};
  };
  const auto decode_one = [&](std::uint64_t number, const ChainDecoder::Memory& row) {
    through_door(context(number), [&] {
      GivenSample({&values[number], 1}).decode(self, {.seed = seed, .sample = number}, row);
    });
  };
  BatchRows rows;
  std::vector<std::byte> first;
  WithoutInterpreter released;
  decode_one(0, [&](std::size_t, DType dtype, const Shape& shape) {
    rows = {.dtype = dtype, .shape = shape};
    first.resize(element_count(shape) * size_of(dtype));
    return std::span(first);
  });
  released.end();
  Shape shape = rows.shape;
  shape.insert(shape.begin(), static_cast<std::int64_t>(values.size()));
  const Array array = memory_of(memory, 0, rows.dtype, shape);
  rows.memory = span_of(array);
  std::ranges::copy(first, rows.memory.begin());
  without_interpreter([&] {
    parallel_for(
        values.size() - 1, workers,
        [&](std::uint64_t item) {
          decode_one(item + 1, [&](std::size_t, DType dtype, const Shape& its_shape) {
            return rows.row(item + 1, dtype, its_shape);
          });
        },
        [](std::uint64_t, std::uint64_t) {
          check_signals();
          return true;
        });
  });
}

void construct_decoder(ChainDecoder* self, const std::vector<std::pair<std::string, Chain>>& chains) {
  new (self) ChainDecoder({chains.begin(), chains.end()});
}

}  // namespace

void bind_decode(nb::module_& module) {
  nb::class_<ChainDecoder>(module, "ChainDecoder", "Runs chains on values in memory. Thread-safe.")
      .def("__init__", construct_decoder, nb::arg("chains"),
           nb::sig("def __init__(self, chains: list[tuple[str, Chain]]) -> None"))
      .def("decode", decode, nb::arg("fields"), nb::arg("key"), nb::arg("seed"), nb::arg("memory"),
           nb::sig("def decode(self, fields: list[tuple[str, str, typing.Any]], key: str, seed: int, memory: "
                   "collections.abc.Callable[[int, str, tuple[int, ...]], typing.Any]) -> None"))
      .def("decode_rows", decode_rows, nb::arg("fields"), nb::arg("seed"), nb::arg("workers"), nb::arg("memory"),
           nb::sig("def decode_rows(self, fields: list[tuple[str, str, typing.Any]], seed: int, workers: int, memory: "
                   "collections.abc.Callable[[int, str, tuple[int, ...]], typing.Any]) -> None"));
}

}  // namespace penstock::python
