// Reports the progress and the result of packing to Python.
#pragma once

#include <functional>

#include <nanobind/nanobind.h>

#include <penstock/pack.hpp>

namespace penstock::python {

/// Returns a function that calls `progress`, unless it is None, with (samples, total, bytes). Call it without the
/// interpreter. Throws KeyboardInterrupt and exceptions of `progress`, which must outlive the function.
std::function<bool(const ConvertProgress&)> teller(const nanobind::object& progress);

/// {"samples", "bytes", "skipped", "resumed", "bad": [...], "kept": {reason: count}}
nanobind::dict summary(const ConvertResult& result);

}  // namespace penstock::python
