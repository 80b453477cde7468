// Binds the functions that make views of datasets.
#pragma once

#include <string>

#include <nanobind/nanobind.h>

#include <penstock/dataset.hpp>

namespace penstock::python {

/// "train.tar.d, tar, 500 samples", "view of train.tar.d: take 10; 10 of 500 samples".
std::string described(const Dataset& dataset);

/// Defines the methods of the class, and the functions of the module.
void define_views(nanobind::module_& module, nanobind::class_<Dataset>& dataset);

}  // namespace penstock::python
