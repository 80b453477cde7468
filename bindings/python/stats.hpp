// Converts counters and times to Python: dicts of numbers and strings; times in seconds.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>

#include <penstock/record/time/stats.hpp>

namespace penstock::python {

nanobind::list bad_samples(const std::vector<BadSample>& bad);
/// A penstock.Stats: a dict whose str() is the stage table.
nanobind::object to_python(const Stats& stats);
/// OpenMetrics text of the figures that a penstock.Stats carries. Throws Error: unsupported, for another version's.
std::string metrics_text(const nanobind::bytes& figures,
                         const std::vector<std::pair<std::string, std::string>>& labels);

}  // namespace penstock::python
