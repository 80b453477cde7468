#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <set>
#include <span>
#include <tuple>

#include <bench/measure/units.hpp>
#include <bench/report/charts.hpp>
#include <bench/report/html.hpp>
#include <bench/report/report.hpp>

namespace penstock {
namespace {

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

std::string milliseconds(double time) {
  return fixed(1e3 * time, 1) + " ms";
}

std::string setting_name(const Setting& setting) {
  return std::to_string(setting.workers) + "w p" + std::to_string(setting.prefetch) + " b" +
         std::to_string(setting.batch_size);
}

std::string row_name(const BenchReport& report, const BenchRow& row) {
  const ReportedSubject& subject = report.subject_of(row);
  std::string name = std::filesystem::path(subject.dataset.path).filename().string();
  if (report.result.rows.size() > report.subjects.size()) name += ", " + setting_name(row.setting);  // several settings
  return name;
}

std::string sentence(std::string text) {
  if (text.empty()) return text;
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text + ".";
}

std::string section(const std::string& title, const std::string& content) {
  return content.empty() ? "" : "<section><h2>" + html_escaped(title) + "</h2>" + content + "</section>\n";
}

std::string titled(const BenchReport& report, const BenchRow& row, const std::string& what) {
  return report.subject_of(row).task + ": " + what + " of " + row_name(report, row);
}

std::string paragraph(const std::string& text) {
  return text.empty() ? "" : "<p>" + html_escaped(text) + "</p>";
}

std::string tile(const std::string& value, const std::string& what) {
  return "<div><b>" + html_escaped(value) + "</b><span>" + html_escaped(what) + "</span></div>";
}

// ---- The fastest row of a task --------------------------------------------------------------------------------------

std::string verdict_section(const BenchReport& report, const BenchRow& row) {
  const bool fed = row.verdict.binds == Binds::nothing || row.verdict.binds == Binds::consumer;
  std::string tiles = tile(with_commas(static_cast<std::uint64_t>(row.samples_per_s.median)), "samples/s");
  if (!row.stats.stages.empty()) {
    tiles += tile(fixed(row.data_wait_percent, 1) + " %", "of the loop's time was data wait");
    tiles += tile(milliseconds(row.first_batch_ms / 1e3), "to the first batch");
    tiles += tile(fixed(row.mb_per_s, 1) + " MB/s", "read for these samples");
  }
  if (row.efficiency) tiles += tile(fixed(row.efficiency->median, 3), "of a plain loop's rate");
  if (row.accelerator_utilisation)
    tiles += tile(fixed(100 * *row.accelerator_utilisation, 1) + " %", "accelerator utilisation");
  const std::string said =
      row.verdict.text.empty() ? "" : "<p class=\"said\"><b>" + html_escaped(sentence(row.verdict.text)) + "</b></p>";
  return "<section class=\"verdict" + std::string(fed ? "" : " waits") + "\"><h2>" +
         html_escaped(report.subject_of(row).task + " of " + row_name(report, row) +
                      (said.empty() ? "" : ": " + std::string(name(row.verdict.binds)))) +
         "</h2>" + said + paragraph(sentence(waits_text(row))) + "<div class=\"tiles\">" + tiles + "</div></section>\n";
}

// Predictions of the pipeline model for other settings.
std::string gains_section(const BenchReport& report, const BenchRow& row) {
  const std::vector<const BenchRow*> fastest = report.fastest();
  const auto number = static_cast<std::size_t>(std::ranges::find(fastest, &row) - fastest.begin());
  if (number >= report.advice.size() || !report.advice[number].known) return {};
  const Advice& advice = report.advice[number];
  std::string table =
      "<tr><th>setting</th><th>samples/s, predicted</th><th>speed-up</th><th>limited then by</th></tr>\n";
  for (const Gain& gain : advice.gains)
    table += "<tr>" + html_cell(gain.knob + "=" + gain.value) +
             html_cell(with_commas(static_cast<std::uint64_t>(gain.samples_per_s))) +
             html_cell(fixed(100 * (gain.ratio - 1), 0) + " %") + html_cell(gain.limit.empty() ? "-" : gain.limit) +
             "</tr>\n";
  if (advice.elsewhere)
    table += "<tr>" + html_cell("on " + advice.elsewhere->machine) +
             html_cell(with_commas(static_cast<std::uint64_t>(advice.elsewhere->outlook.samples_per_s))) +
             html_cell("-") + html_cell(advice.elsewhere->outlook.limit) + "</tr>\n";
  const bool nothing = advice.gains.empty() && !advice.elsewhere;
  return section(titled(report, row, "predicted speed-ups"),
                 nothing ? "<p>No single setting gains 3 %, according to a model of the pipeline.</p>"
                         : "<table>" + table + "</table><p>Predicted by a model of the pipeline from this run; " +
                               html_escaped("penstock bench --verify-predictions") + " measures them.</p>");
}

std::string stall_split_section(const BenchReport& report, const BenchRow& row) {
  if (!row.stall_split) return {};
  const StallSplit& split = *row.stall_split;
  const double step = std::max(split.step(), 1e-9);
  const std::string bars =
      html_bar(0, "no loader", {{split.instant / step, "busy"}}, milliseconds(split.instant)) +
      html_bar(1, "dataset in memory (" + split.cached_engine + ")",
               {{split.compute() / step, "busy"}, {split.prep_stall() / step, "in"}}, milliseconds(split.cached)) +
      (split.cold ? html_bar(2, "pages dropped (" + split.cold_engine + ")",
                             {{split.compute() / step, "busy"},
                              {split.prep_stall() / step, "in"},
                              {split.fetch_stall() / step, "out"}},
                             milliseconds(*split.cold))
                  : "");
  const std::string fetch = split.cold ? milliseconds(split.fetch_stall()) : "not measured";
  return section(
      titled(report, row, "stall split"),
      html_chart(bars, split.cold ? 3 : 2) +
          "<p class=\"key\"><span style=\"background:var(--water)\"></span>compute " + milliseconds(split.compute()) +
          "<span style=\"background:var(--wait)\"></span>prep stall (cores) " + milliseconds(split.prep_stall()) +
          "<span style=\"background:var(--room)\"></span>fetch stall (storage) " + fetch + "</p>" +
          paragraph(sentence(split.notes)));
}

std::string timeline_section(const BenchReport& report, const BenchRow& row) {
  const std::vector<Levels>& levels = row.stats.levels;
  if (levels.size() < 2) return {};
  std::vector<double> at;
  for (const Levels& level : levels) at.push_back(seconds(level.at - levels.front().at));
  const auto strip = [&](const char* name, auto value, auto text) {
    Strip made{.name = name, .values = {}, .most = {}};
    for (const Levels& level : levels) made.values.push_back(static_cast<double>(value(level)));
    made.most = text(*std::ranges::max_element(made.values));
    return made;
  };
  const auto number = [](double value) { return with_commas(static_cast<std::uint64_t>(value)); };
  const auto bytes = [](double value) { return bytes_text(static_cast<std::uint64_t>(value)); };
  return section(titled(report, row, "levels over time"),
                 html_timeline(at, {strip(
                                        "batches ready", [](const Levels& l) { return l.ready; }, number),
                                    strip(
                                        "free batch buffers", [](const Levels& l) { return l.free_slabs; }, number),
                                    strip(
                                        "tasks for workers", [](const Levels& l) { return l.tasks; }, number),
                                    strip(
                                        "bytes in flight", [](const Levels& l) { return l.reading; }, bytes)}) +
                     "<p>Sampled when the consumer requests a batch. Dotted lines separate the rounds.</p>");
}

std::string stages_section(const BenchReport& report, const BenchRow& row) {
  if (row.stats.stages.empty()) return {};
  std::string bars, table;
  std::size_t line = 0;
  for (const StageStats& stage : row.stats.stages) {
    const double busy = seconds(stage.busy), in = seconds(stage.input_wait), out = seconds(stage.room_wait);
    const double all = std::max({row.seconds * std::max(1U, stage.threads), busy + in + out, 1e-9});
    bars +=
        html_bar(line++, stage.name + " (" + std::to_string(stage.threads) + ")",
                 {{busy / all, "busy"}, {in / all, "in"}, {out / all, "out"}}, fixed(100 * busy / all, 1) + " % busy");
    table += "<tr>" + html_cell(stage.name) + html_cell(std::to_string(stage.threads)) + html_cell(fixed(busy, 2)) +
             html_cell(fixed(in, 2)) + html_cell(fixed(out, 2)) + "</tr>\n";
  }
  return section(titled(report, row, "stages"),
                 html_chart(bars, line) +
                     "<p class=\"key\"><span style=\"background:var(--water)\"></span>works"
                     "<span style=\"background:var(--wait)\"></span>input wait"
                     "<span style=\"background:var(--room)\"></span>room wait</p>"
                     "<table><tr><th>stage</th><th>threads</th><th>busy s</th><th>input wait s</th>"
                     "<th>room wait s</th></tr>\n" +
                     table + "</table>");
}

std::string histograms_section(const BenchReport& report, const BenchRow& row) {
  constexpr std::array<std::pair<std::string_view, const char*>, 8> kNames{
      {{"data_wait", "waits for a batch"},
       {"step", "steps of the consumer"},
       {"sample", "a sample in its worker"},
       {"read", "of that, reading"},
       {"decode", "of that, decoding"},
       {"transform", "of that, transforming"},
       {"request", "reads, from request to answer"},
       {"reads together", "reads in flight when one began"}}};
  std::string figures;
  for (const auto& [key, title] : kNames) {
    const auto found = std::ranges::find(row.stats.histograms, key, &std::pair<std::string, Distribution>::first);
    if (found == row.stats.histograms.end()) continue;
    figures += html_histogram(title, found->second, key == "reads together" ? Quantity::count : Quantity::time);
  }
  if (figures.empty()) return {};
  return section(
      titled(report, row, "histograms"),
      "<div class=\"grid\">" + figures +
          "</div><p>Number of waits, samples or reads by duration, on a logarithmic axis. Dotted lines are p50 and "
          "p99.</p>");
}

std::string slowest_section(const BenchReport& report, const BenchRow& row) {
  std::string table;
  for (const SlowSample& slow : row.stats.slowest) {
    table += "<tr>" + html_cell(slow.key) + "<td class=\"word\">" + html_escaped(slow.output) + "</td>" +
             html_cell(bytes_text(slow.bytes));
    for (const auto time : {slow.took(), slow.read, slow.decode, slow.transform})
      table += html_cell(duration_text(static_cast<double>(time.count())));
    table += "</tr>\n";
  }
  if (table.empty()) return {};
  return section(
      titled(report, row, "slowest samples"),
      "<table class=\"keys\"><tr><th>key</th><th class=\"word\">output</th><th>stored</th><th>took</th><th>read</th>"
      "<th>decode</th><th>transform</th></tr>\n" +
          table + "</table>");
}

std::string memory_section(const BenchReport& report, const BenchRow& row) {
  const Stats& stats = row.stats;
  const auto peak = static_cast<std::uint64_t>(row.peak_memory_mb * 1e6);
  const std::array<std::pair<const char*, std::uint64_t>, 7> parts{
      {{"peak of the process", peak},
       {"batch buffers", stats.slab_bytes},
       {"read window", stats.window_bytes},
       {"decompressed blocks", stats.block_cache_bytes},
       {"cache of samples", stats.cache.reserved},
       {"more batches held (at most)", stats.held_max_bytes},
       {"batches on the device", stats.device_bytes}}};
  const auto most =
      static_cast<double>(std::ranges::max(parts, {}, &std::pair<const char*, std::uint64_t>::second).second);
  std::string bars;
  std::size_t line = 0;
  for (const auto& [title, bytes] : parts)
    if (bytes > 0)
      bars += html_bar(line, title, {{static_cast<double>(bytes) / most, line == 0 && bytes == peak ? "out" : "busy"}},
                       bytes_text(bytes)),
          ++line;
  if (bars.empty()) return {};
  return section(titled(report, row, "memory"),
                 html_chart(bars, line) + "<p>The peak was measured. The others are reserved by the loader.</p>");
}

// ---- The sweep ------------------------------------------------------------------------------------------------------

// One chart per task, because rates of different tasks have no common scale.
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
    html += section(task + ": samples a second", html_chart(bars, line));
  }
  return html;
}

// Rates over workers, if there are several numbers of them. Each combination of the other values is a line.
std::string workers_section(const BenchReport& report) {
  std::string html;
  for (const BenchRow* fastest : report.fastest()) {
    const std::string& task = report.subject_of(*fastest).task;
    std::set<unsigned> counts;
    std::set<std::tuple<std::size_t, std::uint32_t, unsigned>> kinds;
    std::set<std::uint32_t> batch_sizes;
    std::set<std::size_t> subjects;
    for (const BenchRow& row : report.result.rows) {
      if (report.subject_of(row).task != task) continue;
      counts.insert(row.setting.workers);
      kinds.emplace(row.subject, row.setting.batch_size, row.setting.prefetch);
      batch_sizes.insert(row.setting.batch_size);
      subjects.insert(row.subject);
    }
    if (counts.size() < 2) continue;
    std::vector<std::string> places;
    for (const unsigned count : counts) places.push_back(std::to_string(count));
    std::vector<PlotLine> lines;
    for (const auto& [subject, batch_size, prefetch] : kinds) {
      std::string name = "prefetch " + std::to_string(prefetch);
      if (batch_sizes.size() > 1) name += ", batch size " + std::to_string(batch_size);
      if (subjects.size() > 1)
        name = std::filesystem::path(report.subjects.at(subject).dataset.path).filename().string() + ", " + name;
      PlotLine& line = lines.emplace_back(PlotLine{.name = std::move(name), .points = {}});
      for (const BenchRow& row : report.result.rows)
        if (row.subject == subject && row.setting.batch_size == batch_size && row.setting.prefetch == prefetch)
          line.points.push_back(
              {static_cast<std::size_t>(std::distance(counts.begin(), counts.find(row.setting.workers))),
               row.samples_per_s.median, row.samples_per_s.low, row.samples_per_s.high});
      std::ranges::sort(line.points, {}, &PlotLine::Point::place);
    }
    html += section(task + ": samples a second over workers, with quartiles", html_plot(places, "workers", lines));
  }
  return html;
}

// Omits columns that are empty, or equal in every row.
std::string rows_section(const BenchReport& report) {
  const auto any = [&](auto has) { return std::ranges::any_of(report.result.rows, has); };
  const bool several = report.subjects.size() > 1;
  const bool efficiency = any([](const BenchRow& row) { return row.efficiency.has_value(); });
  const bool utilised = any([](const BenchRow& row) { return row.accelerator_utilisation.has_value(); });
  const bool digests = any([](const BenchRow& row) { return row.digest.has_value(); });
  std::string html = "<table><tr>";
  if (several) html += "<th>dataset</th><th class=\"word\">format</th><th class=\"word\">task</th>";
  html +=
      "<th>workers</th><th>prefetch</th><th>pinned</th><th>batch</th><th>data wait s/epoch</th><th>steps s/epoch</th>"
      "<th>samples/s</th><th>data wait %</th><th>peak MB</th><th>quartiles</th><th>MB/s</th><th>first batch ms</th>"
      "<th>cache</th><th>engine</th>";
  html += std::string(efficiency ? "<th>efficiency</th>" : "") + (utilised ? "<th>AU %</th>" : "") +
          (digests ? "<th>digest</th>" : "") + "</tr>\n";
  const std::vector<const BenchRow*> fastest = report.fastest();
  const auto word = [](const std::string& text) { return "<td class=\"word\">" + html_escaped(text) + "</td>"; };
  for (const BenchRow* each : report.by_loading_time()) {
    const BenchRow& row = *each;
    const ReportedSubject& subject = report.subject_of(row);
    const bool best = std::ranges::find(fastest, &row) != fastest.end();
    html += best ? "<tr class=\"best\">" : "<tr>";
    if (several)
      html += html_cell(std::filesystem::path(subject.dataset.path).filename().string()) +
              word(subject.dataset.format) + word(subject.task);
    html += html_cell(std::to_string(row.setting.workers)) + html_cell(std::to_string(row.setting.prefetch)) +
            html_cell(row.pinned ? "yes" : "no") + html_cell(std::to_string(row.setting.batch_size)) +
            html_cell(fixed(report.epoch_data_wait_s(row), 3)) + html_cell(fixed(report.epoch_step_s(row), 3)) +
            html_cell(fixed(row.samples_per_s.median, 1)) + html_cell(fixed(row.data_wait_percent, 1)) +
            html_cell(fixed(row.peak_memory_mb, 0)) +
            html_cell(fixed(row.samples_per_s.low, 0) + " to " + fixed(row.samples_per_s.high, 0)) +
            html_cell(fixed(row.mb_per_s, 1)) + html_cell(fixed(row.first_batch_ms, 1)) +
            html_cell(row.warm() ? "warm" : "cold") + html_cell(row.engine);
    if (efficiency) html += html_cell(row.efficiency ? fixed(row.efficiency->median, 3) : "-");
    if (utilised) html += html_cell(row.accelerator_utilisation ? fixed(100 * *row.accelerator_utilisation, 1) : "-");
    if (digests) html += html_cell(row.digest ? hex(*row.digest) : "-");
    html += "</tr>\n";
  }
  return section("All settings, by loading time of an epoch", html + "</table>");
}

// ---- Context of the measurement -------------------------------------------------------------------------------------

std::string fact(const std::string& name, const std::string& value) {
  return value.empty() ? "" : "<tr>" + html_cell(name) + html_cell(value) + "</tr>\n";
}

std::string configuration_section(const BenchReport& report, const BenchRow& row) {
  const ReportedSubject& subject = report.subject_of(row);
  const Stats& stats = row.stats;
  const bool loaded = !stats.stages.empty();
  std::string facts =
      fact("dataset", subject.dataset.path + ": " + subject.dataset.format + ", " +
                          with_commas(subject.dataset.samples) + " samples, " + bytes_text(subject.dataset.bytes)) +
      fact("task", subject.task + ": " + subject.task_reason) + fact("consumer", report.consumer) +
      fact("workers",
           std::to_string(row.setting.workers) +
               (loaded ? ", of which " + std::to_string(stats.workers_observed) + " decoded something" : "")) +
      fact("prefetch", std::to_string(row.setting.prefetch)) +
      fact("batch size", std::to_string(row.setting.batch_size)) +
      fact("engine", row.engine + (row.engine_reason.empty() ? "" : ": " + row.engine_reason));
  if (loaded)
    facts += fact("cache of samples", std::string(name(stats.cache_kind))) +
             fact("checksums", std::string(name(stats.checksums)));
  facts += fact("device", row.device) + fact("staging", row.staging) + fact("copies", copies_text(row)) +
           fact("measured", fixed(row.seconds, 1) + " s in " + std::to_string(row.rounds) +
                                (row.rounds == 1 ? " round" : " rounds") + ", the page cache " +
                                (row.warm() ? "warm" : "cold")) +
           fact("notes", row.notes);
  return section(titled(report, row, "configuration"), "<table class=\"facts\">" + facts + "</table>");
}

std::string limits_section(const BenchReport& report) {
  std::string text;
  if (const auto& limits = report.result.limits)
    text += paragraph("Consumer " + report.consumer + "; limits of the first row: without the loader " +
                      fixed(limits->consumer_alone, 1) + " samples/s, without the consumer " +
                      fixed(limits->loader_alone, 1) + " samples/s.");
  std::string fed = accelerators_text(report);
  while (!fed.empty()) {
    const std::size_t end = fed.find('\n');
    text += paragraph(fed.substr(0, end));
    fed.erase(0, end == std::string::npos ? fed.size() : end + 1);
  }
  return section("Limits", text);
}

// A section of a row; empty if there is nothing to show.
using RowSection = std::string (*)(const BenchReport&, const BenchRow&);

std::string of_fastest(const BenchReport& report, std::span<const RowSection> sections) {
  std::string html;
  for (const RowSection& each : sections)
    for (const BenchRow* row : report.fastest()) html += each(report, *row);
  return html;
}

}  // namespace

std::string to_html(const BenchReport& report) {
  constexpr std::array<RowSection, 2> kFirst{verdict_section, gains_section};
  constexpr std::array<RowSection, 5> kTimes{stall_split_section, timeline_section, stages_section, histograms_section,
                                             slowest_section};
  constexpr std::array<RowSection, 2> kLast{memory_section, configuration_section};
  return html_head("penstock bench") + of_fastest(report, kFirst) + limits_section(report) +
         of_fastest(report, kTimes) + workers_section(report) + rates_section(report) + rows_section(report) +
         of_fastest(report, kLast) + html_machine(report.machine, report.file_system) + html_end();
}

}  // namespace penstock
