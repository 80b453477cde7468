// Converts a batch to a penstock.Batch, the dict that Python programs receive.
#pragma once

#include <nanobind/nanobind.h>

#include <penstock/batch.hpp>

namespace penstock::python {

/// Output name -> Tensor or Ragged, "__key__" -> list of str, "__valid__" -> bool Tensor.
nanobind::dict batch_dict(const Batch& batch);

}  // namespace penstock::python
