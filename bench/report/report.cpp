#include <algorithm>
#include <chrono>
#include <filesystem>

#include <bench/measure/units.hpp>
#include <bench/report/report.hpp>
#include <bench/report/table.hpp>
#include <record/time/rates.hpp>

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

std::string time_text(double seconds) {
  return fixed(seconds, seconds < 1 ? 3 : seconds < 100 ? 1 : 0);
}

// The rows as a table. For a single dataset, its name, format and task are above the table.
std::string rows_text(const BenchReport& report) {
  const auto& rows = report.result.rows;
  const bool several = report.subjects.size() > 1;
  const bool digests = std::ranges::any_of(rows, [](const BenchRow& row) { return row.digest.has_value(); });
  const bool utilised =
      std::ranges::any_of(rows, [](const BenchRow& row) { return row.accelerator_utilisation.has_value(); });
  std::vector<std::string> headings;
  if (several) headings = {"dataset", "format", "task"};
  for (const char* heading :
       {"workers", "prefetch", "pinned", "batch", "data wait s/epoch", "steps s/epoch", "samples/s", "data wait %",
        "peak MB", "quartiles", "MB/s", "first batch ms", "cache", "engine", "efficiency"})
    headings.emplace_back(heading);
  if (utilised) headings.emplace_back("AU %");
  if (digests) headings.emplace_back("digest");
  Table table(std::move(headings));
  for (const BenchRow* each : report.by_loading_time()) {
    const BenchRow& row = *each;
    const ReportedSubject& subject = report.subject_of(row);
    std::vector<std::string> cells;
    if (several)
      cells = {std::filesystem::path(subject.dataset.path).filename().string(), subject.dataset.format, subject.task};
    for (std::string cell :
         {std::to_string(row.setting.workers), std::to_string(row.setting.prefetch),
          std::string(row.pinned ? "yes" : "no"), std::to_string(row.setting.batch_size),
          time_text(report.epoch_data_wait_s(row)), time_text(report.epoch_step_s(row)),
          rate_text(row.samples_per_s.median), fixed(row.data_wait_percent, 1), fixed(row.peak_memory_mb, 0),
          rate_text(row.samples_per_s.low) + "-" + rate_text(row.samples_per_s.high), fixed(row.mb_per_s, 1),
          fixed(row.first_batch_ms, 1), std::string(row.warm() ? "warm" : "cold"), row.engine, efficiency_text(row)})
      cells.push_back(std::move(cell));
    if (utilised) cells.push_back(row.accelerator_utilisation ? fixed(100 * *row.accelerator_utilisation, 1) : "-");
    if (digests) cells.push_back(row.digest ? hex(*row.digest) : "-");
    table.add(std::move(cells));
  }
  return table.text();
}

// Work behind the stage `read`: summed times of requests and threads.
void add_behind_read(const BenchRow& row, Table& table) {
  const auto add = [&](const char* name, std::chrono::nanoseconds busy) {
    table.add({name, "-", fixed(seconds(busy), 2), "-", "-", "-",
               row.samples > 0 ? fixed(seconds(busy) * 1e6 / static_cast<double>(row.samples), 1) : "-"});
  };
  if (reads_store(row.stats)) add("store", row.stats.reads.store.waited);
  if (has_disk_cache(row.stats)) add("disk cache", row.stats.disk_cache.reading + row.stats.disk_cache.writing);
}

std::string stages_text(const BenchReport& report, const BenchRow& row) {
  const ReportedSubject& subject = report.subject_of(row);
  std::string text = subject.task + " of " + subject.dataset.path + " (" + std::to_string(row.setting.workers) +
                     (row.setting.workers == 1 ? " worker" : " workers") + ", prefetch " +
                     std::to_string(row.setting.prefetch) + ", batch size " + std::to_string(row.setting.batch_size) +
                     "): stages in " + fixed(row.seconds, 1) + " s of " + std::to_string(row.rounds) +
                     (row.rounds == 1 ? " round\n" : " rounds\n");
  Table table({"stage", "threads", "busy s", "input wait s", "room wait s", "busy %", "us/sample"});
  for (const StageStats& stage : row.stats.stages) {
    const double busy = seconds(stage.busy), in = seconds(stage.input_wait), out = seconds(stage.room_wait);
    table.add({stage.name, std::to_string(stage.threads), fixed(busy, 2), fixed(in, 2), fixed(out, 2),
               percent(busy, row.seconds * std::max(1U, stage.threads)),
               row.samples > 0 ? fixed(busy * 1e6 / static_cast<double>(row.samples), 1) : "-"});
  }
  add_behind_read(row, table);
  text += table.text("  ");
  if (reads_store(row.stats)) text += "  store: " + store_text(row.stats) + "\n";
  if (has_disk_cache(row.stats)) text += "  disk cache: " + disk_cache_text(row.stats) + "\n";
  if (!row.verdict.text.empty()) text += "  " + std::string(name(row.verdict.binds)) + ": " + row.verdict.text + "\n";
  if (const std::string waits = waits_text(row); !waits.empty()) text += "  " + waits + "\n";
  if (!row.engine_reason.empty()) text += "  engine " + row.engine + ": " + row.engine_reason + "\n";
  if (row.efficiency)
    text += "  efficiency: against " + rate_text(row.loop_samples_per_s) + " samples/s of a plain loop with " +
            std::to_string(row.setting.workers) + " threads over bytes in memory, " + std::to_string(row.rounds) +
            " pairs\n";
  if (!row.device.empty()) text += "  " + copies_text(row) + "\n";
  if (!row.notes.empty()) text += "  " + row.notes + "\n";
  return text + stall_split_text(row);
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

std::string stall_split_text(const BenchRow& row) {
  if (!row.stall_split) return {};
  const StallSplit& split = *row.stall_split;
  const double batch = row.setting.batch_size;
  Table table({"run", "ms/step", "samples/s", "engine"});
  const auto add = [&](const char* run, double step, const std::string& engine) {
    table.add({run, fixed(1e3 * step, 2), rate_text(step > 0 ? batch / step : 0), engine});
  };
  add("no loader", split.instant, "-");
  add("dataset in memory", split.cached, split.cached_engine);
  if (split.cold) add("pages dropped", *split.cold, split.cold_engine);
  const auto part = [&](double time) { return fixed(1e3 * time, 2) + " ms (" + percent(time, split.step()) + " %)"; };
  std::string text = "stall split, medians of " + std::to_string(split.rounds) +
                     (split.rounds == 1 ? " round:\n" : " rounds:\n") + table.text("  ") + "  a step of " +
                     fixed(1e3 * split.step(), 2) + " ms: compute " + part(split.compute()) + ", prep stall (cores) " +
                     part(split.prep_stall());
  text += split.cold ? ", fetch stall (storage) " + part(split.fetch_stall()) : ", fetch stall not measured";
  return text + "\n" + (split.notes.empty() ? "" : "  " + split.notes + "\n");
}

std::string accelerators_text(const BenchReport& report) {
  const EmulatedAccelerator* accelerator = report.result.accelerator;
  if (accelerator == nullptr || report.result.rows.empty()) return {};
  const BenchRow& row = report.result.rows.front();
  const std::string wanted = fixed(100 * accelerator->least_utilisation, 0) + " %";
  std::string text = "mlperf:" + std::string(accelerator->name) + ": " + accelerator->summary();
  if (row.setting.batch_size != accelerator->batch_size)
    text += "; measured with " + std::to_string(row.setting.batch_size) +
            " samples in the same time, which differs from that configuration";
  if (row.accelerator_utilisation) {
    const bool fed = *row.accelerator_utilisation >= accelerator->least_utilisation;
    text += "\n  measured: one accelerator is " + fixed(100 * *row.accelerator_utilisation, 1) +
            " % utilised, which is " + (fed ? "enough" : "not enough");
  }
  if (report.result.limits) {
    const double rate = report.result.limits->loader_alone;
    const std::uint64_t fed = accelerator->fed_by(rate);
    text += "\n  predicted only from the loader's rate, " + rate_text(rate) + " samples/s: " + with_commas(fed) +
            (fed == 1 ? " such accelerator stays" : " such accelerators stay") + " at " + wanted +
            " (each then takes " + rate_text(accelerator->least_samples_per_s()) + " samples/s)";
  }
  return text + "\n";
}

std::string waits_text(const BenchRow& row) {
  std::string text;
  for (const auto& [stage, time] : row.stats.data_wait_by_stage)
    if (time.count() > 0) text += (text.empty() ? "" : ", ") + stage + " " + fixed(seconds(time), 2) + " s";
  return text.empty() ? text : "data wait by stage: " + text;
}

std::vector<const BenchRow*> BenchReport::fastest() const {
  std::vector<const BenchRow*> fastest;
  for (const BenchRow& row : result.rows)
    if (fastest.empty() || subject_of(*fastest.back()).task != subject_of(row).task) fastest.push_back(&row);
  return fastest;
}

std::vector<const BenchRow*> BenchReport::by_loading_time() const {
  std::vector<const BenchRow*> rows;
  for (const BenchRow& row : result.rows) rows.push_back(&row);
  for (auto of_task = rows.begin(); of_task != rows.end();) {
    const std::string& task = subject_of(**of_task).task;
    const auto end =
        std::find_if(of_task, rows.end(), [&](const BenchRow* row) { return subject_of(*row).task != task; });
    std::stable_sort(of_task, end,
                     [](const BenchRow* a, const BenchRow* b) { return a->data_wait_ms < b->data_wait_ms; });
    of_task = end;
  }
  return rows;
}

double BenchReport::epoch_data_wait_s(const BenchRow& row) const {
  return row.data_wait_ms / 1e3 * static_cast<double>(subject_of(row).dataset.samples);
}

double BenchReport::epoch_step_s(const BenchRow& row) const {
  return row.step_ms / 1e3 * static_cast<double>(subject_of(row).dataset.samples);
}

std::string to_text(const BenchReport& report) {
  std::string text;
  for (const ReportedSubject& subject : report.subjects)
    text += subject.dataset.path + ": " + subject.dataset.format + ", " + with_commas(subject.dataset.samples) +
            " samples, " + bytes_text(subject.dataset.bytes) + "; task " + subject.task + ": " + subject.task_reason +
            "\n";
  text += "\n" + rows_text(report) + "\n";
  if (const auto& trace = report.result.trace) {
    text += "trace of the first row, from a separate window: " + trace->file.string() + ", " +
            std::to_string(trace->events) + " events";
    if (trace->dropped > 0) text += "; " + std::to_string(trace->dropped) + " later ones did not fit and are left out";
    text += "\n\n";
  }
  if (report.result.limits)
    text += "consumer " + report.consumer + "; limits of the first row: without the loader " +
            rate_text(report.result.limits->consumer_alone) + " samples/s, without the consumer " +
            rate_text(report.result.limits->loader_alone) + " samples/s\n\n";
  if (const std::string fed = accelerators_text(report); !fed.empty()) text += fed + "\n";
  const std::vector<const BenchRow*> fastest = report.fastest();
  for (std::size_t i = 0; i < fastest.size(); ++i) {
    if (!fastest[i]->stats.stages.empty()) text += stages_text(report, *fastest[i]);
    if (i < report.advice.size()) text += to_text(report.advice[i]);
  }
  return text;
}

}  // namespace penstock
