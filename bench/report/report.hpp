// Writes the report of a bench: a table for the terminal, JSON for tools, one HTML page for people.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <base/machine.hpp>
#include <bench/measure/dataset_summary.hpp>
#include <bench/measure/sweep.hpp>
#include <bench/tryout/advice.hpp>
#include <bench/tryout/tune.hpp>

namespace penstock {

struct ReportedSubject {
  DatasetSummary dataset;
  std::string task, task_reason;
};

struct BenchReport {
  Machine machine;
  std::string file_system;                ///< that the first dataset lies on
  std::vector<ReportedSubject> subjects;  ///< in the order that BenchRow::subject counts
  std::string consumer;
  SweepResult result;
  std::vector<Advice> advice;  ///< of each of fastest(); empty where it was not asked for

  const ReportedSubject& subject_of(const BenchRow& row) const { return subjects.at(row.subject); }
  /// The fastest row of each task, in the order of the rows.
  std::vector<const BenchRow*> fastest() const;
  /// All rows as a table shows them: those of a task together, the shortest loading time first.
  std::vector<const BenchRow*> by_loading_time() const;
  /// Seconds that an epoch of the row's dataset spends loading and training, at the row's pace.
  double epoch_data_wait_s(const BenchRow& row) const;
  double epoch_step_s(const BenchRow& row) const;
};

/// The rows, the limits, and the stage table of the fastest row of each task.
std::string to_text(const BenchReport& report);

/// {"penstock": version, "machine": {...}, "dataset": {...}, "rows": [{"task", "workers", "prefetch", "batch_size",
/// "engine", "engine_reason", "cache": "warm" | "cold", "samples_per_s", "mb_per_s", "first_batch_ms",
/// "data_wait_percent", "peak_rss_mb", "efficiency", "digest", "stages": {"read": {"busy_s", "input_wait_s",
/// "room_wait_s"}, ...}}]} and "advice": of the fastest row of each task, [{"dataset", "task", "workers", "prefetch",
/// "batch_size", "gains":
/// [{"knob", "value", "samples_per_s", "ratio", "limit", "text"}], "elsewhere"}]; and, where batches were copied to a
/// device, "device", "staging", "copied_mb", "copy_gb_per_s" and "plain_copy_gb_per_s"; with a consumer of MLPerf
/// Storage's "accelerator" and, of a row, "accelerator_utilisation"; with a stall split "stall_split" of the fastest
/// row of each task; of rows whose dataset lies in a store "store" ({"requests", "bytes", "retries", "hedges",
/// "connections", "waited_s", "requests_per_s", "mb_per_s"}) and, with a cache on the node's disk, "disk_cache"
/// ({"dir", "hits", "misses", "bad", "bypassed", "read_bytes", "reading_s", ...}); and more fields in every part; none
/// of those named here is ever renamed. What was not measured is null. "dataset" is the first of "datasets"; a row's
/// "dataset" is the path of its own.
std::string to_json(const BenchReport& report);

/// The report of a search: "rows" are the settings that were tried, fastest first; beside them "best" (a row),
/// "settings" (how many there were to try), "reason", "cpp_line" and "python_line".
std::string to_json(const BenchReport& report, const TuneResult& tuned);

/// One page without any outside reference: tables, and bars as SVG.
std::string to_html(const BenchReport& report);

/// Of a row whose batches were copied to a device: which, whether its memory is page-locked, and how fast copies were,
/// beside a plain loop of them. Empty for other rows.
std::string copies_text(const BenchRow& row);

/// "data wait by stage: read 1.20 s, decode 0.10 s". Empty where no loader was measured.
std::string waits_text(const BenchRow& row);

/// What a step of the row is made of, by its stall split: a table of the runs and a sentence. Empty for other rows.
std::string stall_split_text(const BenchRow& row);

/// The accelerators of MLPerf Storage that a report's loader feeds: by the utilisation measured with one, and by the
/// loader's rate alone, where that was measured. Empty for other consumers.
std::string accelerators_text(const BenchReport& report);

}  // namespace penstock
