#include <algorithm>
#include <filesystem>
#include <string_view>

#include <penstock/bench/report.hpp>
#include <penstock/bench/units.hpp>

namespace penstock {
namespace {

constexpr std::string_view kHead = R"html(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>penstock bench</title><style>
:root { --ink: #1d2733; --soft: #5c6b7a; --line: #dde3ea; --paper: #fff; --page: #f5f7f9; --water: #1f7a8c; --wait: #d9a441; --room: #b8c4ce; }
@media (prefers-color-scheme: dark) { :root { --ink: #e3e9ef; --soft: #93a3b3; --line: #2e3a46; --paper: #1a222b; --page: #12181f; --room: #4b5a68; } }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 92rem; margin: 2rem auto; padding: 0 1rem; }
svg { max-width: 64rem; } section { background: var(--paper); border: 1px solid var(--line); border-radius: 8px; padding: 1rem 1.25rem; margin: 1rem 0; overflow-x: auto; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.05rem; margin: 0 0 .6rem; } p { margin: .3rem 0; color: var(--soft); }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .5rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { color: var(--soft); font-weight: 600; } th:first-child, td:first-child, td.word { text-align: left; }
tr.best td { font-weight: 650; } svg { display: block; width: 100%; height: auto; } svg text { fill: var(--ink); font: 13px system-ui, sans-serif; }
.busy { fill: var(--water); } .in { fill: var(--wait); } .out { fill: var(--room); }
.key span { display: inline-block; width: .8em; height: .8em; margin: 0 .35em 0 1em; border-radius: 2px; }
</style></head><body><main>
)html";

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char letter : text) {
    switch (letter) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += letter;
    }
  }
  return out;
}

std::string cell(const std::string& text) {
  return "<td>" + escaped(text) + "</td>";
}

std::string row_name(const BenchReport& report, const BenchRow& row) {
  const ReportedSubject& subject = report.subject_of(row);
  std::string name = std::filesystem::path(subject.dataset.path).filename().string();
  if (report.result.rows.size() > report.subjects.size())  // several settings
    name += ", " + std::to_string(row.setting.workers) + "w p" + std::to_string(row.setting.prefetch) + " b" +
            std::to_string(row.setting.batch_size);
  return name;
}

struct Part {
  double share;
  const char* kind;  // CSS class
};

// A line of a bar chart: a name, a bar of parts that share the width, a value.
std::string bar(std::size_t line, const std::string& label, const std::vector<Part>& parts, const std::string& value) {
  constexpr double kLeft = 230, kWidth = 560;
  const double y = 6 + 28.0 * static_cast<double>(line);
  std::string svg = "<text x=\"0\" y=\"" + fixed(y + 15, 0) + "\">" + escaped(label) + "</text>";
  double x = kLeft;
  for (const Part& part : parts) {
    const double width = std::max(0.0, part.share) * kWidth;
    svg += "<rect class=\"" + std::string(part.kind) + "\" x=\"" + fixed(x, 1) + "\" y=\"" + fixed(y, 0) +
           "\" width=\"" + fixed(width, 1) + "\" height=\"20\" rx=\"2\"/>";
    x += width;
  }
  return svg + "<text x=\"" + fixed(x + 8, 1) + "\" y=\"" + fixed(y + 15, 0) + "\">" + escaped(value) + "</text>";
}

std::string chart(const std::string& bars, std::size_t lines) {
  return "<svg viewBox=\"0 0 920 " + std::to_string(12 + 28 * lines) + "\" role=\"img\">" + bars + "</svg>";
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
        bars += bar(line++, row_name(report, row), {{row.samples_per_s.median / most, "busy"}},
                    with_commas(static_cast<std::uint64_t>(row.samples_per_s.median)) + "/s");
    html += "<section><h2>" + escaped(task) + ": samples a second</h2>" + chart(bars, line) + "</section>\n";
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
            cell(std::filesystem::path(subject.dataset.path).filename().string()) + cell(subject.dataset.format) +
            cell(subject.task) + cell(std::to_string(row.setting.workers)) +
            cell(std::to_string(row.setting.prefetch)) + cell(std::to_string(row.setting.batch_size)) +
            cell(fixed(row.samples_per_s.median, 1)) +
            cell(fixed(row.samples_per_s.low, 0) + " to " + fixed(row.samples_per_s.high, 0)) +
            cell(fixed(row.mb_per_s, 1)) + cell(fixed(row.first_batch_ms, 1) + " ms") +
            cell(fixed(row.stall_percent, 1) + " %") + cell(fixed(row.peak_memory_mb, 0) + " MB") +
            cell(row.warm() ? "warm" : "cold") + cell(row.engine) +
            cell(row.efficiency ? fixed(row.efficiency->median, 3) : "-") + cell(row.digest ? hex(*row.digest) : "-") +
            "</tr>\n";
  }
  return html + "</table></section>\n";
}

std::string stages_section(const BenchReport& report, const BenchRow& row) {
  if (row.stages.empty()) return {};
  std::string bars, table;
  std::size_t line = 0;
  for (const StageStats& stage : row.stages) {
    const double busy = seconds(stage.busy), in = seconds(stage.stalled_in), out = seconds(stage.stalled_out);
    const double all = std::max({row.seconds * std::max(1U, stage.threads), busy + in + out, 1e-9});
    bars += bar(line++, stage.name + " (" + std::to_string(stage.threads) + ")",
                {{busy / all, "busy"}, {in / all, "in"}, {out / all, "out"}}, fixed(100 * busy / all, 1) + " % busy");
    table += "<tr>" + cell(stage.name) + cell(std::to_string(stage.threads)) + cell(fixed(busy, 2)) +
             cell(fixed(in, 2)) + cell(fixed(out, 2)) + "</tr>\n";
  }
  return "<section><h2>" + escaped(report.subject_of(row).task) + ": stages of " + escaped(row_name(report, row)) +
         "</h2>" + chart(bars, line) +
         "<p class=\"key\"><span style=\"background:var(--water)\"></span>works"
         "<span style=\"background:var(--wait)\"></span>waits for input"
         "<span style=\"background:var(--room)\"></span>waits for room</p>"
         "<table><tr><th>stage</th><th>threads</th><th>busy s</th><th>waits for input s</th><th>waits for room s</th>"
         "</tr>\n" +
         table + "</table><p>Engine " + escaped(row.engine) + ": " + escaped(row.engine_reason) + "</p></section>\n";
}

std::string machine_section(const BenchReport& report) {
  const Machine& machine = report.machine;
  return "<section><h2>Machine</h2><p>" + escaped(machine.cpu) + ", " + std::to_string(machine.cores_usable) + " of " +
         std::to_string(machine.cores_online) + " cores, " + bytes_text(machine.memory_total) + " memory, " +
         escaped(report.file_system.empty() ? "unknown file system" : report.file_system) + ", " +
         escaped(machine.kernel) + "</p><p>penstock " PENSTOCK_VERSION "</p></section>\n";
}

}  // namespace

std::string to_html(const BenchReport& report) {
  std::string html(kHead);
  html += "<h1>penstock bench</h1>";
  for (const ReportedSubject& subject : report.subjects)
    html += "<p>" + escaped(subject.dataset.path) + ": " + escaped(subject.dataset.format) + ", " +
            with_commas(subject.dataset.samples) + " samples, " + bytes_text(subject.dataset.bytes) + ". Task " +
            escaped(subject.task) + ": " + escaped(subject.task_reason) + ".</p>\n";
  html += "<p>Consumer " + escaped(report.consumer) + ".";
  if (report.result.limits)
    html += " Limits of the first row: the consumer alone " + fixed(report.result.limits->consumer_alone, 1) +
            " samples/s, the loader alone " + fixed(report.result.limits->loader_alone, 1) + " samples/s.";
  html += "</p>\n" + rates_section(report) + rows_section(report);
  for (const BenchRow* row : report.fastest()) html += stages_section(report, *row);
  return html + machine_section(report) + "</main></body></html>\n";
}

}  // namespace penstock
