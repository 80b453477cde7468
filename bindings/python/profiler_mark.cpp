#include "profiler_mark.hpp"

namespace penstock::python {
namespace {

namespace nb = nanobind;

// The name format of torch/utils/data/dataloader.py; tools look for this prefix and this suffix.
constexpr const char* kMark = "enumerate(DataLoader)#PenstockLoader.__next__";

}  // namespace

ProfilerMark::ProfilerMark() {
  // Finds the module if torch has loaded it. An import here would import torch for all users.
  const nb::object profiler = nb::steal(PyImport_GetModule(nb::str("torch.autograd.profiler").ptr()));
  if (!profiler.is_valid()) {
    PyErr_Clear();
    return;
  }
  if (!nb::hasattr(profiler, "record_function")) return;  // another thread is importing torch
  mark_ = profiler.attr("record_function")(kMark);
  mark_.attr("__enter__")();
}

ProfilerMark::~ProfilerMark() {
  if (!mark_.is_valid()) return;
  try {
    mark_.attr("__exit__")(nb::none(), nb::none(), nb::none());
  } catch (nb::python_error& error) {
    error.discard_as_unraisable("penstock.Loader");
  }
}

}  // namespace penstock::python
