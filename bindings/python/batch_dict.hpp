// Converts a batch to a penstock.Batch, the dict that Python programs receive.
#pragma once

#include <nanobind/nanobind.h>

#include <penstock/batch.hpp>

namespace penstock::python {

/// Output name -> Tensor or Ragged, "__key__" -> list of str, "__valid__" -> bool Tensor. With
/// LoaderOptions::missing, "__present__" -> a dict of bool Tensors by output.
nanobind::dict batch_dict(const Batch& batch);

}  // namespace penstock::python
