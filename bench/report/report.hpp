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
  std::string file_system;                ///< of the first dataset
  std::vector<ReportedSubject> subjects;  ///< in the order of BenchRow::subject
  std::string consumer;
  SweepResult result;
  std::vector<Advice> advice;  ///< for each of fastest(); empty if not requested

  const ReportedSubject& subject_of(const BenchRow& row) const { return subjects.at(row.subject); }
  /// The fastest row of each task, in the order of the rows.
  std::vector<const BenchRow*> fastest() const;
  /// All rows in the order of a table: grouped by task, the shortest loading time first.
  std::vector<const BenchRow*> by_loading_time() const;
  /// Seconds that an epoch of the row's dataset would spend loading and training, at the row's rate.
  double epoch_data_wait_s(const BenchRow& row) const;
  double epoch_step_s(const BenchRow& row) const;
};

/// The rows, the limits, and the stage table of the fastest row of each task.
std::string to_text(const BenchReport& report);

/// {"penstock": version, "machine": {...}, "dataset": {...}, "rows": [{"task", "workers", "prefetch", "batch_size",
/// "engine", "engine_reason", "cache": "warm" | "cold", "samples_per_s", "mb_per_s", "first_batch_ms",
/// "data_wait_percent", "peak_rss_mb", "efficiency", "digest", "stages": {"read": {"busy_s", "input_wait_s",
/// "room_wait_s"}, ...}}]}. Every part has more fields. The fields named here are never renamed. Values that were not
/// measured are null. "dataset" is the first of "datasets"; a row's "dataset" is the path of its dataset.
///
/// "advice", for the fastest row of each task: [{"dataset", "task", "workers", "prefetch", "batch_size", "gains":
/// [{"knob", "value", "samples_per_s", "ratio", "limit", "text"}], "elsewhere"}].
///
/// If batches were copied to a device: "device", "staging", "copied_mb", "copy_gb_per_s" and "plain_copy_gb_per_s".
/// With a consumer of MLPerf Storage: "accelerator" and, in a row, "accelerator_utilisation". With a stall split:
/// "stall_split" in the fastest row of each task.
///
/// In rows whose dataset is in a store: "store" ({"requests", "bytes", "retries", "hedges", "connections", "waited_s",
/// "requests_per_s", "mb_per_s"}) and, with a disk cache, "disk_cache" ({"dir", "hits", "misses", "bad", "bypassed",
/// "read_bytes", "reading_s", ...}).
std::string to_json(const BenchReport& report);

/// The report of a search. "rows" are the settings that were tried, fastest first. "best" is a row, "settings" the
/// number of candidates. Also has "reason", "cpp_line" and "python_line".
std::string to_json(const BenchReport& report, const TuneResult& tuned);

/// One page without external references: tables, and bars as SVG.
std::string to_html(const BenchReport& report);

/// For a row whose batches were copied to a device: the device, whether its host memory is page-locked, and the speed
/// of copies, beside that of a plain loop. Empty for other rows.
std::string copies_text(const BenchRow& row);

/// "data wait by stage: read 1.20 s, decode 0.10 s". Empty if no loader was measured.
std::string waits_text(const BenchRow& row);

/// The parts of the row's step by its stall split: a table of the runs and a sentence. Empty for other rows.
std::string stall_split_text(const BenchRow& row);

/// Number of MLPerf Storage accelerators that the loader feeds: by the utilisation measured with one, and by the
/// loader's rate without a consumer, if that was measured. Empty for other consumers.
std::string accelerators_text(const BenchReport& report);

}  // namespace penstock
