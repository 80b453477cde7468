// The parts of penstock._processes that Python's standard library lacks.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <sys/mman.h>

#include "bind.hpp"

namespace penstock::python {
namespace {

struct Mapping {
  Mapping(int descriptor, std::size_t bytes)
      : size(bytes), memory(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)) {}
  Mapping(Mapping&&) = delete;
  ~Mapping() {
    if (memory != MAP_FAILED) ::munmap(memory, size);
  }
  const std::size_t size;
  void* const memory;
};

// mmap.mmap() keeps a copy of the descriptor, so the limit of open files would limit the mappings.
nb::object shared_mapping(int descriptor, std::size_t size) {
  auto mapping = std::make_unique<Mapping>(descriptor, size);
  if (mapping->memory == MAP_FAILED) {
    PyErr_SetFromErrno(PyExc_OSError);
    throw nb::python_error();
  }
  auto* const memory = static_cast<std::uint8_t*>(mapping->memory);
  const nb::capsule owner(mapping.release(), [](void* held) noexcept { delete static_cast<Mapping*>(held); });
  return nb::cast(nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>(memory, {size}, owner));
}

}  // namespace

void bind_processes(nb::module_& module) {
  module.def(
      "shared_mapping", shared_mapping, nb::arg("descriptor"), nb::arg("size"),
      nb::sig("def shared_mapping(descriptor: int, size: int) -> typing.Any"),
      "Maps the memory of a descriptor as a NumPy array of uint8. The descriptor may be closed. Raises OSError.");
}

}  // namespace penstock::python
