// Makes tables of figures from parsed reports, one function for each kind.
#pragma once

#include <nlohmann/json.hpp>

#include <overview/reports/comparison.hpp>

namespace penstock::overview {

/// A report of penstock run, format 1, with all figures (--json) or a few (--out). Source:
/// bindings/python/penstock/_run/report.py.
Report report_of_run(const nlohmann::json& root);
/// A report of penstock bench or tune. Source: bench/report/report.hpp.
Report report_of_bench(const nlohmann::json& root);

}  // namespace penstock::overview
