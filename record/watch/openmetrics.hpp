// Writes figures as OpenMetrics text, for Prometheus and what else reads it.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include <record/watch/figures.hpp>

namespace penstock {

/// One loader, and what tells it from others: names and values.
struct LabelledFigures {
  std::vector<std::pair<std::string, std::string>> labels;
  Figures figures;
};

/// The family of a counter that has one, without "penstock_" and "_total".
std::string family_of(const Counter& counter);
/// Families "penstock_...", a sample for each loader in each; ends with "# EOF". Only counters and gauges, without
/// timestamps, so that node_exporter's textfile collector reads it too. Values may be any text. Throws Error:
/// invalid_argument, for names of labels that are not letters, digits and underscores, or that are the families' own.
/// Source: OpenMetrics 1.0, "Text format".
std::string openmetrics(std::span<const LabelledFigures> loaders);
inline constexpr const char* kOpenMetricsType = "application/openmetrics-text; version=1.0.0; charset=utf-8";

}  // namespace penstock
