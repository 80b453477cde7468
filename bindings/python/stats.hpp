// Converts counters and times to Python: dicts of numbers and strings, times in seconds.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>

#include <penstock/stats.hpp>

namespace penstock::python {

nanobind::list bad_samples(const std::vector<BadSample>& bad);
/// A penstock.Stats: a dict whose str() is the stage table.
nanobind::object to_python(const Stats& stats);
/// Count, mean, p50, p90, p99 and max. All except the count are multiplied by `unit`.
nanobind::dict to_python(const Distribution& values, double unit);
/// A penstock.Steps with the active steps of a Schedule, or with all steps for None.
nanobind::object to_python(const Steps& steps, const nanobind::object& schedule);
/// Group, name, unit, rule, meaning and OpenMetrics family of each counter, for the reference.
nanobind::list counter_table();
/// OpenMetrics text of the numbers in a penstock.Stats. Throws Error: unsupported, for another version's stats.
std::string metrics_text(const nanobind::bytes& figures,
                         const std::vector<std::pair<std::string, std::string>>& labels);

}  // namespace penstock::python
