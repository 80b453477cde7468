// Converts counters and times to Python: dicts of numbers and strings; times in seconds.
#pragma once

#include <vector>

#include <nanobind/nanobind.h>

#include <penstock/loader/time/stats.hpp>

namespace penstock::python {

nanobind::list bad_samples(const std::vector<BadSample>& bad);
/// A penstock.Stats: a dict whose str() is the stage table.
nanobind::object to_python(const Stats& stats);

}  // namespace penstock::python
