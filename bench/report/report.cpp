#include <algorithm>
#include <chrono>
#include <filesystem>

#include <penstock/bench/measure/bottleneck.hpp>
#include <penstock/bench/report/report.hpp>
#include <penstock/bench/report/table.hpp>
#include <penstock/bench/report/units.hpp>

namespace penstock {
namespace {

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

std::string percent(double part, double whole) {
  return whole > 0 ? fixed(100.0 * part / whole, 1) : "-";
}

std::string efficiency_text(const BenchRow& row) {
  if (!row.efficiency) return "-";
  return fixed(row.efficiency->median, 3) + " [" + fixed(row.efficiency->low, 3) + "-" +
         fixed(row.efficiency->high, 3) + "]";
}

std::string rate_text(double rate) {
  return rate < 100 ? fixed(rate, 1) : with_commas(static_cast<std::uint64_t>(rate));
}

std::string rows_text(const BenchReport& report) {
  const auto& rows = report.result.rows;
  const bool digests = std::ranges::any_of(rows, [](const BenchRow& row) { return row.digest.has_value(); });
  std::vector<std::string> headings{"dataset", "packing",   "task",      "workers", "prefetch",
                                    "batch",   "samples/s", "quartiles", "MB/s",    "first batch ms",
                                    "stall %", "peak MB",   "cache",     "engine",  "efficiency"};
  if (digests) headings.emplace_back("digest");
  Table table(std::move(headings));
  for (const BenchRow& row : rows) {
    const ReportedSubject& subject = report.subject_of(row);
    std::vector<std::string> cells{std::filesystem::path(subject.dataset.path).filename().string(),
                                   subject.dataset.format,
                                   subject.task,
                                   std::to_string(row.setting.workers),
                                   std::to_string(row.setting.prefetch),
                                   std::to_string(row.setting.batch_size),
                                   rate_text(row.samples_per_s.median),
                                   rate_text(row.samples_per_s.low) + "-" + rate_text(row.samples_per_s.high),
                                   fixed(row.mb_per_s, 1),
                                   fixed(row.first_batch_ms, 1),
                                   fixed(row.stall_percent, 1),
                                   fixed(row.peak_memory_mb, 0),
                                   row.warm() ? "warm" : "cold",
                                   row.engine,
                                   efficiency_text(row)};
    if (digests) cells.push_back(row.digest ? hex(*row.digest) : "-");
    table.add(std::move(cells));
  }
  return table.text();
}

std::string stages_text(const BenchReport& report, const BenchRow& row) {
  const ReportedSubject& subject = report.subject_of(row);
  std::string text = subject.task + " of " + subject.dataset.path + " (" + std::to_string(row.setting.workers) +
                     (row.setting.workers == 1 ? " worker" : " workers") + ", prefetch " +
                     std::to_string(row.setting.prefetch) + ", batch size " + std::to_string(row.setting.batch_size) +
                     "): stages in " + fixed(row.seconds, 1) + " s of " + std::to_string(row.rounds) +
                     (row.rounds == 1 ? " round\n" : " rounds\n");
  Table table({"stage", "threads", "busy s", "waits for input s", "waits for room s", "busy %", "us/sample"});
  for (const StageStats& stage : row.stages) {
    const double busy = seconds(stage.busy), in = seconds(stage.stalled_in), out = seconds(stage.stalled_out);
    table.add({stage.name, std::to_string(stage.threads), fixed(busy, 2), fixed(in, 2), fixed(out, 2),
               percent(busy, row.seconds * std::max(1U, stage.threads)),
               row.samples > 0 ? fixed(busy * 1e6 / static_cast<double>(row.samples), 1) : "-"});
  }
  text += table.text("  ");
  if (const std::string waits = waits_text(row); !waits.empty()) text += "  " + waits + "\n";
  if (!row.engine_reason.empty()) text += "  engine " + row.engine + ": " + row.engine_reason + "\n";
  if (row.efficiency)
    text += "  efficiency: against " + rate_text(row.loop_samples_per_s) + " samples/s of a plain loop with " +
            std::to_string(row.setting.workers) + " threads over bytes in memory, " + std::to_string(row.rounds) +
            " pairs\n";
  if (!row.device.empty()) text += "  " + copies_text(row) + "\n";
  if (!row.notes.empty()) text += "  " + row.notes + "\n";
  return text;
}

}  // namespace

std::string copies_text(const BenchRow& row) {
  if (row.device.empty()) return {};
  std::string text = "copies to " + row.device + ", from " + row.staging + ": " + fixed(row.copied_mb, 1) + " MB";
  if (row.copy_gb_per_s > 0) text += ", " + fixed(row.copy_gb_per_s, 2) + " GB/s while they ran";
  if (row.plain_copy_gb_per_s > 0)
    text += "; a plain loop of copies " + fixed(row.plain_copy_gb_per_s, 2) + " GB/s, ratio " +
            fixed(row.copy_gb_per_s / row.plain_copy_gb_per_s, 3);
  return text;
}

std::string waits_text(const BenchRow& row) {
  std::string text;
  for (const auto& [stage, time] : row.waited_for)
    if (time.count() > 0) text += (text.empty() ? "" : ", ") + stage + " " + fixed(seconds(time), 2) + " s";
  if (!text.empty()) text = "the consumer waited for: " + text + "; ";
  const std::string stage = bottleneck(row);
  return stage.empty() ? text : text + "the bottleneck is " + (stage == kConsumer ? "the consumer" : stage);
}

std::vector<const BenchRow*> BenchReport::fastest() const {
  std::vector<const BenchRow*> fastest;
  for (const BenchRow& row : result.rows)
    if (fastest.empty() || subject_of(*fastest.back()).task != subject_of(row).task) fastest.push_back(&row);
  return fastest;
}

std::string to_text(const BenchReport& report) {
  std::string text;
  for (const ReportedSubject& subject : report.subjects)
    text += subject.dataset.path + ": " + subject.dataset.format + ", " + with_commas(subject.dataset.samples) +
            " samples, " + bytes_text(subject.dataset.bytes) + "; task " + subject.task + ": " + subject.task_reason +
            "\n";
  text += "\n" + rows_text(report) + "\n";
  if (report.result.limits)
    text += "consumer " + report.consumer + "; limits of the first row: the consumer alone " +
            rate_text(report.result.limits->consumer_alone) + " samples/s, the loader alone " +
            rate_text(report.result.limits->loader_alone) + " samples/s\n\n";
  for (const BenchRow* row : report.fastest())
    if (!row->stages.empty()) text += stages_text(report, *row);
  return text;
}

}  // namespace penstock
