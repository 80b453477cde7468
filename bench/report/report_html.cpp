#include <algorithm>
#include <cctype>
#include <filesystem>

#include <penstock/bench/report/html.hpp>
#include <penstock/bench/report/report.hpp>
#include <penstock/bench/report/units.hpp>

namespace penstock {
namespace {

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

std::string row_name(const BenchReport& report, const BenchRow& row) {
  const ReportedSubject& subject = report.subject_of(row);
  std::string name = std::filesystem::path(subject.dataset.path).filename().string();
  if (report.result.rows.size() > report.subjects.size())  // several settings
    name += ", " + std::to_string(row.setting.workers) + "w p" + std::to_string(row.setting.prefetch) + " b" +
            std::to_string(row.setting.batch_size);
  return name;
}

// One chart for each task: rates of different tasks have no common scale.
std::string rates_section(const BenchReport& report) {
  std::string html;
  for (const BenchRow* fastest : report.fastest()) {
    const std::string& task = report.subject_of(*fastest).task;
    const double most = std::max(fastest->samples_per_s.median, 1e-9);
    std::string bars;
    std::size_t line = 0;
    for (const BenchRow& row : report.result.rows)
      if (report.subject_of(row).task == task)
        bars += html_bar(line++, row_name(report, row), {{row.samples_per_s.median / most, "busy"}},
                         with_commas(static_cast<std::uint64_t>(row.samples_per_s.median)) + "/s");
    html += "<section><h2>" + html_escaped(task) + ": samples a second</h2>" + html_chart(bars, line) + "</section>\n";
  }
  return html;
}

std::string rows_section(const BenchReport& report) {
  std::string html =
      "<section><h2>All settings</h2><table><tr><th>dataset</th><th>packing</th><th>task</th><th>workers</th>"
      "<th>prefetch</th><th>batch</th><th>samples/s</th><th>quartiles</th><th>MB/s</th><th>first batch</th>"
      "<th>stall</th><th>peak memory</th><th>cache</th><th>engine</th><th>efficiency</th><th>digest</th></tr>\n";
  const std::vector<const BenchRow*> fastest = report.fastest();
  for (const BenchRow& row : report.result.rows) {
    const ReportedSubject& subject = report.subject_of(row);
    const bool best = std::ranges::find(fastest, &row) != fastest.end();
    html += (best ? "<tr class=\"best\">" : "<tr>") +
            html_cell(std::filesystem::path(subject.dataset.path).filename().string()) +
            html_cell(subject.dataset.format) + html_cell(subject.task) +
            html_cell(std::to_string(row.setting.workers)) + html_cell(std::to_string(row.setting.prefetch)) +
            html_cell(std::to_string(row.setting.batch_size)) + html_cell(fixed(row.samples_per_s.median, 1)) +
            html_cell(fixed(row.samples_per_s.low, 0) + " to " + fixed(row.samples_per_s.high, 0)) +
            html_cell(fixed(row.mb_per_s, 1)) + html_cell(fixed(row.first_batch_ms, 1) + " ms") +
            html_cell(fixed(row.stall_percent, 1) + " %") + html_cell(fixed(row.peak_memory_mb, 0) + " MB") +
            html_cell(row.warm() ? "warm" : "cold") + html_cell(row.engine) +
            html_cell(row.efficiency ? fixed(row.efficiency->median, 3) : "-") +
            html_cell(row.digest ? hex(*row.digest) : "-") + "</tr>\n";
  }
  return html + "</table></section>\n";
}

std::string sentence(std::string text) {
  if (text.empty()) return text;
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text + ".";
}

std::string stages_section(const BenchReport& report, const BenchRow& row) {
  if (row.stages.empty()) return {};
  std::string bars, table;
  std::size_t line = 0;
  for (const StageStats& stage : row.stages) {
    const double busy = seconds(stage.busy), in = seconds(stage.stalled_in), out = seconds(stage.stalled_out);
    const double all = std::max({row.seconds * std::max(1U, stage.threads), busy + in + out, 1e-9});
    bars +=
        html_bar(line++, stage.name + " (" + std::to_string(stage.threads) + ")",
                 {{busy / all, "busy"}, {in / all, "in"}, {out / all, "out"}}, fixed(100 * busy / all, 1) + " % busy");
    table += "<tr>" + html_cell(stage.name) + html_cell(std::to_string(stage.threads)) + html_cell(fixed(busy, 2)) +
             html_cell(fixed(in, 2)) + html_cell(fixed(out, 2)) + "</tr>\n";
  }
  return "<section><h2>" + html_escaped(report.subject_of(row).task) + ": stages of " +
         html_escaped(row_name(report, row)) + "</h2>" + html_chart(bars, line) +
         "<p class=\"key\"><span style=\"background:var(--water)\"></span>works"
         "<span style=\"background:var(--wait)\"></span>waits for input"
         "<span style=\"background:var(--room)\"></span>waits for room</p>"
         "<table><tr><th>stage</th><th>threads</th><th>busy s</th><th>waits for input s</th><th>waits for room s</th>"
         "</tr>\n" +
         table + "</table><p>" + html_escaped(sentence(waits_text(row))) + "</p><p>Engine " + html_escaped(row.engine) +
         ": " + html_escaped(row.engine_reason) + "</p>" +
         (row.device.empty() ? "" : "<p>" + html_escaped(copies_text(row)) + "</p>") + "</section>\n";
}

}  // namespace

std::string to_html(const BenchReport& report) {
  std::string html = html_head("penstock bench");
  for (const ReportedSubject& subject : report.subjects)
    html += "<p>" + html_escaped(subject.dataset.path) + ": " + html_escaped(subject.dataset.format) + ", " +
            with_commas(subject.dataset.samples) + " samples, " + bytes_text(subject.dataset.bytes) + ". Task " +
            html_escaped(subject.task) + ": " + html_escaped(subject.task_reason) + ".</p>\n";
  html += "<p>Consumer " + html_escaped(report.consumer) + ".";
  if (report.result.limits)
    html += " Limits of the first row: the consumer alone " + fixed(report.result.limits->consumer_alone, 1) +
            " samples/s, the loader alone " + fixed(report.result.limits->loader_alone, 1) + " samples/s.";
  html += "</p>\n" + rates_section(report) + rows_section(report);
  for (const BenchRow* row : report.fastest()) html += stages_section(report, *row);
  return html + html_machine(report.machine, report.file_system) + html_end();
}

}  // namespace penstock
