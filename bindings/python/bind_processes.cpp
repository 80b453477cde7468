// The parts of penstock._processes that Python's standard library lacks.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <base/thread.hpp>
#include <loader/options/distributed_env.hpp>
#include <penstock/error.hpp>

#include "bind.hpp"

namespace penstock::python {
namespace {

constexpr int kLookMs = 500;  // between two looks at the parent, if the kernel cannot report its end (before 5.3)

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

// PR_SET_PDEATHSIG would end this process with the thread that started it.
[[noreturn]] void exit_after(pid_t parent) {
  pollfd end{.fd = static_cast<int>(::syscall(SYS_pidfd_open, parent, 0)), .events = POLLIN, .revents = 0};
  while (::getppid() == parent) ::poll(&end, 1, end.fd < 0 ? kLookMs : -1);
  ::_exit(0);
}

void end_with_process(pid_t parent) {
  static const auto* const watcher = new Thread("ps-parent", [parent](const std::stop_token&) { exit_after(parent); });
  static_cast<void>(watcher);
}

std::optional<std::pair<std::uint32_t, std::uint32_t>> rank_of_launcher() {
  try {
    const RankAndWorld found = rank_from_environment();
    return std::pair(found.rank, found.world);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

void bind_processes(nb::module_& module) {
  module.def(
      "shared_mapping", shared_mapping, nb::arg("descriptor"), nb::arg("size"),
      nb::sig("def shared_mapping(descriptor: int, size: int) -> typing.Any"),
      "Maps the memory of a descriptor as a NumPy array of uint8. The descriptor may be closed. Raises OSError.");
  module.def("end_with_process", end_with_process, nb::arg("parent"),
             "Ends this process as soon as its parent ends, even if a function holds the interpreter.");
  module.def("rank_of_launcher", rank_of_launcher,
             "Rank and world size that torchrun, mpirun or srun gave this process; None without such a launcher.");
}

}  // namespace penstock::python
