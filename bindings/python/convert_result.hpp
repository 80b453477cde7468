// Reports the progress and the result of packing to Python.
#pragma once

#include <functional>

#include <nanobind/nanobind.h>

#include <penstock/pack.hpp>

namespace penstock::python {

/// Calls `progress`, unless it is None, with (samples, total, bytes); for use without the interpreter. Ctrl-C and what
/// `progress` raises are thrown. `progress` must outlive it.
std::function<bool(const ConvertProgress&)> teller(const nanobind::object& progress);

/// {"samples", "bytes", "skipped", "resumed", "bad": [...], "kept": {reason: count}}
nanobind::dict summary(const ConvertResult& result);

}  // namespace penstock::python
