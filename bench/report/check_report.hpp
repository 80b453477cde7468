// Writes predictions beside measurements: a table for the terminal, JSON for tools.
#pragma once

#include <string>
#include <vector>

#include <bench/tryout/check.hpp>

namespace penstock {

/// The check of one dataset.
struct ReportedCheck {
  std::string dataset, task;
  CheckResult result;
};

/// A table of settings, predicted and measured samples/s and the difference, then the predicted gains.
std::string to_text(const std::vector<ReportedCheck>& checks);

/// {"penstock": version, "checks": [{"dataset", "task", "base": {"workers", "prefetch", "batch_size", "samples_per_s",
/// "samples_per_s_quartiles"}, "core_speed_all_at_work", "rows": [{"setting", "predicted_samples_per_s",
/// "samples_per_s", "samples_per_s_quartiles", "error", "limit", "note"}], "gains": [{"knob", "value", "samples_per_s",
/// "ratio", "limit", "text"}], "notes": [...]}]}
std::string to_json(const std::vector<ReportedCheck>& checks);

}  // namespace penstock
