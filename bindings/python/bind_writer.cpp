#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>

#include <penstock/pack.hpp>

#include "bind.hpp"
#include "convert_result.hpp"
#include "interpreter.hpp"

namespace penstock::python {
namespace {

/// The fields of one sample. Holds their Python buffers, so create and destroy it with the interpreter held.
class Fields {
 public:
  // Delegates to the default constructor, so that the destructor runs even if the rest throws.
  explicit Fields(const nb::dict& fields) : Fields() {
    names_.reserve(fields.size());  // values_ has views of its elements
    for (const auto& [name, value] : fields) {
      names_.push_back(bytes_of(nb::cast<nb::str>(name)));
      add(names_.back(), value);
    }
  }
  Fields(Fields&&) = delete;
  ~Fields() {
    for (Py_buffer& buffer : buffers_) PyBuffer_Release(&buffer);
  }

  std::span<const WriterValue> values() const { return values_; }

 private:
  Fields() = default;

  void add(const std::string& name, nb::handle value) {
    if (PyObject_CheckBuffer(value.ptr()) == 0) {
      std::filesystem::path path;
      if (nb::isinstance<nb::str>(value) || !nb::try_cast(value, path))
        throw nb::type_error("a field must be bytes, or the path of a file as an os.PathLike");
      values_.push_back({.field = name, .file = std::move(path)});
      return;
    }
    buffers_.emplace_back();  // empty, so releasing it does nothing
    Py_buffer& buffer = buffers_.back();
    if (PyObject_GetBuffer(value.ptr(), &buffer, PyBUF_SIMPLE) != 0) throw nb::python_error();
    const std::span bytes(static_cast<const std::byte*>(buffer.buf), static_cast<std::size_t>(buffer.len));
    values_.push_back({.field = name, .bytes = bytes});
  }

  std::vector<std::string> names_;
  std::vector<Py_buffer> buffers_;
  std::vector<WriterValue> values_;
};

void make(Writer* self, const std::filesystem::path& destination, ConvertOptions pack,
          std::vector<std::string> classes) {
  std::filesystem::path spool = std::exchange(pack.spool, {});  // for samples, not for shards on their way to a store
  const WithoutInterpreter released;
  new (self) Writer(destination, {.pack = std::move(pack), .classes = std::move(classes), .spool = std::move(spool)});
}

void add(Writer& self, const nb::str& key, const nb::dict& fields) {
  const std::string name = bytes_of(key);
  const Fields held(fields);
  const WithoutInterpreter released;
  self.add(name, held.values());
}

nb::dict finish(Writer& self, const nb::object& progress) {
  return summary(without_interpreter([&] { return self.finish(teller(progress)); }));
}

}  // namespace

void bind_writer(nb::module_& module) {
  nb::class_<Writer>(module, "Writer", "Packs encoded samples; use penstock.Writer.")
      .def("__init__", make, nb::arg("destination"), nb::arg("options"), nb::kw_only(),
           nb::arg("classes") = std::vector<std::string>())
      .def("add", add, nb::arg("key"), nb::arg("fields"))
      .def("finish", finish, nb::arg("progress") = nb::none())
      .def_prop_ro("samples", &Writer::samples)
      .def_prop_ro("bytes", &Writer::bytes);
}

}  // namespace penstock::python
