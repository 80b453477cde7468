// Writes statistics as OpenMetrics text, for Prometheus and other readers of that format.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <record/watch/figures.hpp>

namespace penstock {

/// One loader, with labels that distinguish it from others: names and values.
struct LabelledFigures {
  std::vector<std::pair<std::string, std::string>> labels;
  Figures figures;
  /// How long next() has waited for the batch that it returns next. The counters of `figures` do not include this time
  /// before next() returns. nothing: unknown.
  std::optional<std::chrono::nanoseconds> waiting{};
};

/// Returns the name of a counter's family, if it has one, without "penstock_" and "_total".
std::string family_of(const Counter& counter);
/// Returns families "penstock_...", with a sample for each loader, and "# EOF" at the end. Contains only counters and
/// gauges, without timestamps, so that node_exporter's textfile collector can read it, too. Values of labels may be
/// any text.
///
/// Throws Error: invalid_argument, for label names with characters other than letters, digits and underscores, and
/// for names that the families use. Source: OpenMetrics 1.0, "Text format".
std::string openmetrics(std::span<const LabelledFigures> loaders);
inline constexpr const char* kOpenMetricsType = "application/openmetrics-text; version=1.0.0; charset=utf-8";

}  // namespace penstock
