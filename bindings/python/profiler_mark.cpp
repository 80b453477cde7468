#include "profiler_mark.hpp"

namespace penstock::python {
namespace {

namespace nb = nanobind;

// As torch/utils/data/dataloader.py names them; tools look for this beginning and this end.
constexpr const char* kMark = "enumerate(DataLoader)#PenstockLoader.__next__";

}  // namespace

ProfilerMark::ProfilerMark() {
  // A module of a name that torch already has in use: importing here would import torch for its users.
  const nb::object profiler = nb::steal(PyImport_GetModule(nb::str("torch.autograd.profiler").ptr()));
  if (!profiler.is_valid()) {
    PyErr_Clear();
    return;
  }
  if (!nb::hasattr(profiler, "record_function")) return;  // torch is being imported by another thread
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
