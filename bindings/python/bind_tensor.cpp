#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>

#include <formats/element_types.hpp>

#include "bind.hpp"
#include "dlpack.hpp"
#include "tensor.hpp"

namespace penstock::python {
dlpack::DataType dlpack_type(DType dtype) {
  using dlpack::TypeCode;
  return with_element(dtype, [](auto element) -> dlpack::DataType {
    using Element = decltype(element);
    const bool floating = std::is_floating_point_v<Element> || std::is_same_v<Element, HalfElement>;
    const TypeCode code = std::is_same_v<Element, BoolElement>    ? TypeCode::kBool
                          : std::is_same_v<Element, BrainElement> ? TypeCode::kBfloat
                          : floating                              ? TypeCode::kFloat
                          : std::is_signed_v<Element>             ? TypeCode::kInt
                                                                  : TypeCode::kUInt;
    return {code, 8 * sizeof element, 1};
  });
}

namespace {

dlpack::Device device_of(const Tensor& tensor) {
  const std::optional<int> gpu = tensor.gpu();
  return gpu ? dlpack::Device{dlpack::kCuda, *gpu} : dlpack::Device{dlpack::kCpu, 0};
}

// The object that a capsule's receiver holds. Its deleter runs in any thread, with or without the interpreter, so it
// must not use Python.
template <typename ManagedArray>
struct Export {
  explicit Export(const Tensor& tensor) : owner(tensor.owner()), shape(tensor.shape()), strides(shape.size()) {
    std::int64_t stride = 1;
    for (std::size_t i = shape.size(); i-- > 0; stride *= shape[i]) strides[i] = stride;
    managed.array = {.data = const_cast<std::byte*>(tensor.data()),
                     .device = device_of(tensor),
                     .ndim = static_cast<std::int32_t>(shape.size()),
                     .dtype = dlpack_type(tensor.dtype()),
                     .shape = shape.data(),
                     .strides = strides.data(),
                     .byte_offset = 0};
    managed.context = this;
    managed.deleter = [](ManagedArray* self) { delete static_cast<Export*>(self->context); };
  }

  std::shared_ptr<const void> owner;
  Shape shape;
  std::vector<std::int64_t> strides;
  ManagedArray managed{};
};

constexpr const char* kTensorCapsule = "dltensor";
constexpr const char* kVersionedName = "dltensor_versioned";

// Frees the content of a capsule that no receiver took. A receiver renames the capsule that it takes over.
template <typename ManagedArray, const char* const& name>
void free_capsule(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, name) == 0) return;
  auto* managed = static_cast<ManagedArray*>(PyCapsule_GetPointer(capsule, name));
  managed->deleter(managed);
}

template <typename ManagedArray, const char* const& name>
nb::object capsule_of(Export<ManagedArray>* exported) {
  PyObject* capsule = PyCapsule_New(&exported->managed, name, free_capsule<ManagedArray, name>);
  if (capsule == nullptr) {
    delete exported;
    throw nb::python_error();
  }
  return nb::steal(capsule);
}

[[noreturn]] void refuse(const char* cause) {
  PyErr_SetString(PyExc_BufferError, cause);
  throw nb::python_error();
}

// Orders the receiver's work after pending writes to the tensor. `stream` is as in DLPack: None is the default stream,
// -1 requests no order.
void order_behind(const Tensor& tensor, const nb::object& stream) {
  if (tensor.use() == nullptr) return;
  if (!tensor.gpu()) {  // read by CPUs, which have no streams
    const nb::gil_scoped_release released;
    tensor.use()->synchronize();
    return;
  }
  const std::int64_t number =
      stream.is_none() ? static_cast<std::int64_t>(kDefaultStream) : nb::cast<std::int64_t>(stream);
  if (number == 0)
    refuse(
        "penstock: stream 0 is ambiguous: pass 1 for CUDA's legacy default stream, or 2 for the thread's default "
        "stream");
  if (number < -1) refuse("penstock: a CUDA stream must be 1 or more, -1 or None");
  if (number > 0) tensor.use()->wait(static_cast<StreamHandle>(number));
}

nb::object to_dlpack(const Tensor& self, const nb::object& stream, std::optional<std::pair<int, int>> max_version,
                     std::optional<std::pair<int, int>> device, std::optional<bool> copy) {
  const dlpack::Device place = device_of(self);
  const bool to_host = place.type != dlpack::kCpu && device && device->first == dlpack::kCpu;
  const bool copied = copy.value_or(false) || to_host;
  if (place.type == dlpack::kCpu || to_host) {
    if (!stream.is_none()) refuse("penstock: host memory has no stream: pass stream=None");
  } else if (copied) {
    refuse("penstock: copy=True is not supported on a device: copy the received tensor instead");
  }
  if (copy && !*copy && to_host)
    refuse("penstock: copy=False cannot be combined with a transfer from the device to the host");
  if (device && !to_host && std::pair(place.type, place.id) != *device)
    refuse("penstock: this tensor cannot be exported to another device");
  if (!copied) order_behind(self, stream);
  const Tensor tensor = copied ? self.copy() : self;
  if (!max_version || max_version->first < 1)
    return capsule_of<dlpack::Managed, kTensorCapsule>(new Export<dlpack::Managed>(tensor));
  auto* exported = new Export<dlpack::ManagedVersioned>(tensor);
  exported->managed.major = dlpack::kMajor;
  exported->managed.minor = dlpack::kMinor;
  exported->managed.flags = copied ? dlpack::kFlagCopied : 0;
  return capsule_of<dlpack::ManagedVersioned, kVersionedName>(exported);
}

nb::object to_numpy(const nb::handle& self, const nb::object& dtype, const nb::object& copy) {
  if (nb::cast<const Tensor&>(self).dtype() == DType::bf16) {
    PyErr_SetString(PyExc_TypeError, "NumPy has no bfloat16: use torch.from_dlpack, or image.cast(\"float16\")");
    throw nb::python_error();
  }
  if (nb::cast<const Tensor&>(self).gpu()) {
    PyErr_SetString(PyExc_TypeError, "this tensor is on a GPU: use t.cpu() or torch.from_dlpack(t)");
    throw nb::python_error();
  }
  nb::object array = nb::module_::import_("numpy").attr("from_dlpack")(self);
  if (!dtype.is_none() && !array.attr("dtype").equal(dtype)) {
    if (!copy.is_none() && !nb::cast<bool>(copy))
      throw nb::value_error("another dtype requires a copy: leave out copy=False");
    return array.attr("astype")(dtype);
  }
  return !copy.is_none() && nb::cast<bool>(copy) ? array.attr("copy")() : array;
}

nb::tuple shape_of(const Tensor& tensor) {
  nb::list sizes;
  for (const std::int64_t size : tensor.shape()) sizes.append(size);
  return nb::tuple(sizes);
}

std::int64_t length_of(const Tensor& tensor) {
  if (tensor.shape().empty()) throw nb::type_error("a penstock.Tensor without dimensions has no len()");
  return tensor.shape().front();
}

std::string described(const Tensor& tensor) {
  return "shape=" + to_string(tensor.shape()) + ", dtype=" + std::string(name(tensor.dtype()));
}

// Implemented in Python, for values in host memory.
nb::object listed(const nb::handle& self) {
  return nb::module_::import_("penstock._tensor").attr("tolist")(self);
}

nb::object operators() {
  return nb::module_::import_("penstock._operators");
}

// NumPy or torch does the arithmetic.
void define_operators(nb::class_<Tensor>& tensor) {
  const auto define = [&tensor](const std::string& name, const char* operand) {
    tensor.def(("__" + name + "__").c_str(),
               [name](const nb::handle& self, const nb::handle& other) {
                 return operators().attr("applied")(name, self, other);
               },
               nb::arg("other").none(),
               nb::sig(("def __" + name + "__(self, other: " + operand + ", /) -> typing.Any").c_str()));
  };
  for (const char* const name : {"eq", "ne"}) define(name, "object");
  for (const char* const name : {"lt", "le", "gt", "ge"}) define(name, "typing.Any");
  for (const std::string name :
       {"add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor"}) {
    define(name, "typing.Any");
    define("r" + name, "typing.Any");
  }
  for (const std::string name : {"neg", "pos", "abs", "invert"}) {
    tensor.def(("__" + name + "__").c_str(),
               [name](const nb::handle& self) { return operators().attr("alone")(name, self); },
               nb::sig(("def __" + name + "__(self) -> typing.Any").c_str()));
  }
}

void define_operators(nb::class_<Ragged>& ragged) {
  for (const std::string name : {"eq", "ne"}) {
    ragged.def(("__" + name + "__").c_str(),
               [name](const nb::handle& self, const nb::handle& other) {
                 return operators().attr("refused")(name, self, other);
               },
               nb::arg("other").none(), nb::sig(("def __" + name + "__(self, other: object, /) -> bool").c_str()));
  }
}

nb::object slice_of(const Tensor& self, nb::handle slice) {
  Py_ssize_t begin = 0, end = 0, step = 0;
  if (PySlice_Unpack(slice.ptr(), &begin, &end, &step) != 0) throw nb::python_error();
  if (step != 1)
    throw nb::value_error("a slice of a penstock.Tensor cannot have a step: use t.numpy()[...] or t.torch()[...]");
  const Py_ssize_t length = PySlice_AdjustIndices(length_of(self), &begin, &end, step);
  return nb::cast(self.slice(begin, begin + length));
}

// Arrays of one number may also be integers; those are indexes, not arrays.
bool is_array(nb::handle index) {
  if (PyLong_Check(index.ptr()) != 0 || !nb::hasattr(index, "shape")) return false;
  return nb::len(nb::object(index.attr("shape"))) > 0;
}

// Item of the first dimension: a Tensor with one dimension less, or a number.
nb::object item_of(const nb::handle& of, nb::handle index) {
  const auto& self = nb::cast<const Tensor&>(of);
  if (self.shape().empty()) throw nb::index_error("a penstock.Tensor without dimensions has no items");
  if (PySlice_Check(index.ptr()) != 0) return slice_of(self, index);
  if (is_array(index)) return operators().attr("chosen")(of, index);
  if (PyIndex_Check(index.ptr()) == 0)
    throw nb::type_error(
        "an index of a penstock.Tensor must be a number, a slice or an array: t.numpy() and t.torch() accept others");
  const Py_ssize_t number = PyNumber_AsSsize_t(index.ptr(), PyExc_IndexError);
  if (number == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  const std::int64_t length = length_of(self);
  const std::int64_t place = number < 0 ? number + length : number;
  if (place < 0 || place >= length) {
    const std::string refusal = "index " + std::to_string(number) +
                                " is out of range for a penstock.Tensor of length " + std::to_string(length);
    throw nb::index_error(refusal.c_str());
  }
  nb::object item = nb::cast(self.slice(place, place + 1).first());
  return self.shape().size() == 1 ? listed(item) : item;
}

// Refuses changed offsets or shapes. Arrays that programs make of them are writable, so they may point outside the
// values.
[[noreturn]] void refuse_changed(std::int64_t row) {
  throw nb::value_error(("row " + std::to_string(row) +
                         " of a penstock.Ragged does not match its values: its offsets or shapes were changed")
                            .c_str());
}

Tensor ragged_row(const Ragged& ragged, std::int64_t row) {
  const std::int64_t rows = length_of(ragged.offsets) - 1;
  const std::int64_t wanted = row < 0 ? row + rows : row;
  if (wanted < 0 || wanted >= rows) throw nb::index_error("row out of range");
  const auto* offsets = reinterpret_cast<const std::int64_t*>(ragged.offsets.data());
  const std::int64_t begin = offsets[wanted], end = offsets[wanted + 1];
  if (begin < 0 || begin > end || end > length_of(ragged.values)) refuse_changed(wanted);
  Tensor values = ragged.values.slice(begin, end);
  if (!ragged.shapes) return values;
  const std::int64_t dimensions = ragged.shapes->shape()[1];
  const auto* sizes = reinterpret_cast<const std::int64_t*>(ragged.shapes->data()) + wanted * dimensions;
  // Floating point, because the product of changed sizes may overflow an integer.
  double elements = 1;
  for (const std::int64_t size : std::span(sizes, static_cast<std::size_t>(dimensions))) {
    if (size < 0) refuse_changed(wanted);
    elements *= static_cast<double>(size);
  }
  if (elements != static_cast<double>(end - begin)) refuse_changed(wanted);
  return values.reshaped({sizes, sizes + dimensions});
}

}  // namespace

Tensor Tensor::slice(std::int64_t begin, std::int64_t end) const {
  Shape shape = shape_;
  shape.front() = end - begin;
  Shape item(shape_.begin() + 1, shape_.end());
  return {owner_, data() + static_cast<std::uint64_t>(begin) * element_count(item) * size_of(dtype_), dtype_,
          std::move(shape), use_};
}

Tensor Tensor::first() const {
  return {owner_, data_, dtype_, Shape(shape_.begin() + 1, shape_.end()), use_};
}

Tensor Tensor::copy() const {
  // Aligned like the columns of a slab, because some programs copy unaligned arrays.
  constexpr std::align_val_t kAlignment{64};
  const auto length = static_cast<std::size_t>(bytes());
  const std::shared_ptr<void> memory(::operator new(std::max<std::size_t>(length, 1), kAlignment),
                                     [](void* taken) { ::operator delete(taken, kAlignment); });
  if (use_ != nullptr) use_->synchronize();
  if (gpu()) {
    Device& device = use_->device();
    const auto stream = device.make_stream();
    const auto done = device.make_event();
    device.copy_out(memory.get(), data(), bytes(), stream->handle());
    done->record(stream->handle());
    done->wait();
  } else if (length != 0) {
    std::memcpy(memory.get(), data(), length);
  }
  return {memory, memory.get(), dtype_, shape_};
}

std::optional<int> Tensor::gpu() const {
  if (use_ == nullptr) return std::nullopt;
  const DeviceId id = use_->device().id();
  return id.kind == DeviceId::Kind::cuda ? std::optional(id.number) : std::nullopt;
}

void bind_tensor(nb::module_& module) {
  nb::class_<Tensor> array(
      module, "Tensor", nb::is_weak_referenceable(),
      "An array of a batch, in host memory or on the loader's device. torch.from_dlpack(t),\n"
      "numpy.asarray(t) and all other libraries with DLPack use it without a copy. The memory does not\n"
      "change while the tensor, or any array made from it, exists, even after the loader has ended.\n"
      "Comparison and arithmetic, such as t == 0, t < u and t + 1, are elementwise. NumPy computes them on\n"
      "the host, or torch if the other operand is a torch tensor.");
  define_operators(array);
  define_hints(array, "no_member_of_tensor");
  array
      .def_prop_ro("shape", shape_of, nb::sig("def shape(self) -> tuple[int, ...]"),
                   "Sizes of the dimensions, rows first.")
      .def_prop_ro(
          "dtype", [](const Tensor& self) { return std::string(name(self.dtype())); },
          "NumPy's name of the element type, such as \"uint8\" or \"float32\"; also \"bfloat16\".")
      .def_prop_ro(
          "device", [](const Tensor& self) { return self.gpu() ? "cuda:" + std::to_string(*self.gpu()) : "cpu"; },
          nb::sig("def device(self) -> str"), "\"cpu\" or \"cuda:0\".")
      .def("cpu", &Tensor::copy, nb::call_guard<nb::gil_scoped_release>(),
           "A copy in host memory. Waits until the values have arrived on the device.")
      .def(
          "synchronize",
          [](const Tensor& self) {
            if (self.use() != nullptr) self.use()->synchronize();
          },
          nb::call_guard<nb::gil_scoped_release>(),
          "Blocks the host until the values have arrived on the device. Not required before __dlpack__().")
      .def(
          "record_stream",
          [](const Tensor& self, std::uintptr_t stream) {
            if (self.use() != nullptr) self.use()->record_stream(stream);
          },
          nb::arg("stream"),
          "Declares that another stream (torch's stream.cuda_stream) uses the memory. The memory is reused only\n"
          "after this stream has finished the work that was enqueued before the batch was released. Not\n"
          "required for the stream that received the tensor by DLPack.")
      .def_prop_ro("nbytes", &Tensor::bytes, "Size of all elements in bytes.")
      .def_prop_ro(
          "ndim", [](const Tensor& self) { return self.shape().size(); }, "Number of dimensions.")
      .def(
          "__bool__", [](const nb::handle& self) { return operators().attr("truth")(self); },
          nb::sig("def __bool__(self) -> bool"),
          "Truth of the only element. Raises ValueError, like NumPy, unless there is exactly one element.")
      .def("__len__", length_of, "The length of the first axis.")
      .def("__getitem__", item_of, nb::arg("index").none(),
           nb::sig("def __getitem__(self, index: typing.Any, /) -> typing.Any"),
           "t[0] is a Tensor with one dimension less, or a number if t has one dimension. t[2:5] is a Tensor.\n"
           "Neither copies. t[mask] is a copy, made by NumPy, or by torch if the mask is a torch tensor. Raises\n"
           "IndexError. Raises ValueError for a slice with a step.")
      .def(
          "numpy", [](const nb::handle& self) { return to_numpy(self, nb::none(), nb::none()); },
          nb::sig("def numpy(self) -> typing.Any"), "numpy.asarray(t): without a copy. Raises TypeError on a GPU.")
      .def(
          "torch", [](const nb::handle& self) { return nb::module_::import_("penstock.torch").attr("tensor")(self); },
          nb::sig("def torch(self) -> typing.Any"),
          "A torch tensor on the same device. Copies only arrays of at most 256 bytes a row on a GPU.")
      .def(
          "tolist", [](const nb::handle& self) { return listed(self); }, nb::sig("def tolist(self) -> typing.Any"),
          "Nested lists of numbers, or a number if t has no dimensions. Copies, also from a GPU. Requires NumPy.")
      .def("__repr__", [](const Tensor& self) { return "penstock.Tensor(" + described(self) + ")"; })
      .def(
          "tobytes",
          [](const Tensor& self) {
            const Tensor tensor = self.use() != nullptr ? self.copy() : self;
            return nb::bytes(tensor.data(), static_cast<std::size_t>(tensor.bytes()));
          },
          "A copy of the elements, in C order.")
      .def("__dlpack__", to_dlpack, nb::arg("stream") = nb::none(), nb::kw_only(), nb::arg("max_version") = nb::none(),
           nb::arg("dl_device") = nb::none(), nb::arg("copy") = nb::none(),
           "A DLPack capsule, of DLPack 1 if max_version allows it. On a GPU, later work in `stream` (None: the\n"
           "default stream) waits for the copy to the device; the host does not wait. Raises BufferError for a\n"
           "stream if the memory is the host's, and for other devices.")
      .def("__dlpack_device__", [](const Tensor& self) { return std::pair(device_of(self).type, device_of(self).id); })
      .def("__array__", to_numpy, nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none(),
           nb::sig("def __array__(self, dtype: typing.Any = None, copy: bool | None = None) -> typing.Any"),
           "For numpy.asarray(): without a copy, unless another dtype is requested.");

  nb::class_<Ragged> ragged(module, "Ragged",
                            "Rows of different length: r[i] is values[offsets[i]:offsets[i + 1]]. If images keep\n"
                            "their own sizes, values is a flat list of elements, and r[i] has the shape\n"
                            "shapes[i].");
  define_operators(ragged);
  define_hints(ragged, "no_member_of_ragged");
  ragged.def("__array__", [](const nb::handle&, const nb::args&, const nb::kwargs&) -> nb::object {
    throw nb::type_error(
        "a penstock.Ragged is not an array, because its rows differ in length: use r.values and r.offsets, or a row, "
        "r[i]; ps.pad() in the chain makes one tensor of the rows");
  });
  ragged.def_ro("values", &Ragged::values, "(items of all rows, ...)")
      .def_ro("offsets", &Ragged::offsets, "(rows + 1,) int64")
      .def_ro("shapes", &Ragged::shapes,
              "(rows, dimensions) int64, if images keep their own sizes (image.decode(ragged=True)); otherwise None")
      .def(
          "__len__", [](const Ragged& self) { return length_of(self.offsets) - 1; }, "The number of rows.")
      .def("__getitem__", ragged_row, nb::arg("row"), "A row, without a copy. Raises IndexError.")
      .def("__repr__", [](const Ragged& self) {
        return "penstock.Ragged(rows=" + std::to_string(length_of(self.offsets) - 1) +
               ", values: " + described(self.values) + ")";
      });
}

}  // namespace penstock::python
