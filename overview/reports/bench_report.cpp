#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include <base/printable.hpp>
#include <overview/reports/members.hpp>
#include <overview/reports/report_tables.hpp>
#include <penstock/error.hpp>

namespace penstock::overview {
namespace {

/// Quantile of Student's t for 95 %, approximated within 3 % from 3 degrees of freedom on.
double student(double freedom) {
  if (freedom < 2) return 12.71;
  return freedom < 3 ? 4.30 : 1.96 + 2.4 / freedom + 3.6 / (freedom * freedom);
}

/// Half of the 95 % interval of a median, from its quartiles. The standard error of a median is 1.25 times that of the
/// mean. The quartiles of a normal distribution are 1.35 standard deviations apart. Nothing below three rounds.
///
/// Source: McGill, Tukey and Larsen, "Variations of box plots", 1978, section 7.
std::optional<double> plus_minus(const Members& row, const char* quartiles) {
  const std::vector<double> around = row.numbers(quartiles);
  const double rounds = row.number("rounds").value_or(0);
  if (around.size() != 2 || rounds < 3) return std::nullopt;
  return student(rounds - 1) * 1.25 * std::abs(around[1] - around[0]) / (1.35 * std::sqrt(rounds));
}

Figure rate(const Members& row, const std::string& name) {
  return {name, "samples/s", row.required("samples_per_s"), plus_minus(row, "samples_per_s_quartiles")};
}

/// A row for each setting. The dataset and the task are part of its name if they differ between rows.
FigureTable rates_table(const std::vector<Members>& rows) {
  FigureTable out{.name = "Samples per second", .figures = {}};
  const auto differs = [&](const char* name) {
    return std::ranges::any_of(rows, [&](const Members& row) { return row.text(name) != rows.front().text(name); });
  };
  const std::array names{std::pair("dataset", differs("dataset")), std::pair("task", differs("task"))};
  for (const Members& row : rows) {
    std::string name;
    for (const auto& [member, shown] : names) name += shown ? row.text(member) + ", " : "";
    out.figures.push_back(rate(row, name + "workers " + row.text("workers") + ", prefetch " + row.text("prefetch") +
                                        ", batch size " + row.text("batch_size")));
  }
  return out;
}

FigureTable fastest_table(const Members& row) {
  FigureTable out{.name = "Fastest row", .figures = {rate(row, "samples per second")}};
  row.add_to(out, "mb_per_s", {"bytes per second", "MB/s"});
  row.add_to(out, "efficiency", {"efficiency", "", 0, plus_minus(row, "efficiency_quartiles")});
  row.add_to(out, "epoch_data_wait_s", {"data wait of an epoch", "s"});
  row.add_to(out, "epoch_step_s", {"steps of an epoch", "s"});
  row.add_to(out, "first_batch_ms", {"first batch", "s"}, 1e-3);
  row.add_to(out, "peak_rss_mb", {"peak memory", "MB"});
  row.add_to(out, "accelerator_utilisation", {"accelerator utilisation", "%"}, 100);
  return out;
}

FigureTable split_table(const Members& row) {
  FigureTable out{.name = "Categories of the fastest row: stall split", .figures = {}};
  if (!row.has("stall_split")) return out;
  const Members split = row.object("stall_split");
  split.add_to(out, "step_s", {"step", "s"});
  split.add_to(out, "compute_s", {"compute", "s"});
  split.add_to(out, "prep_stall_s", {"prep stall", "s"});
  split.add_to(out, "fetch_stall_s", {"fetch stall", "s"});
  return out;
}

FigureTable stages_table(const Members& row) {
  FigureTable out{.name = "Stages of the fastest row: busy for a sample", .figures = {}};
  const double samples = row.number("samples").value_or(0);
  if (samples == 0 || !row.has("stages")) return out;
  const Members stages = row.object("stages");
  for (const std::string& stage : stages.names()) stages.object(stage).add_to(out, "busy_s", {stage, "s"}, 1 / samples);
  std::ranges::stable_sort(out.figures, std::ranges::greater(), &Figure::value);
  return out;
}

}  // namespace

Report report_of_bench(const nlohmann::json& root) {
  const Members report(root, "");
  const std::vector<Members> rows = report.objects("rows");
  if (rows.empty()) throw Error::corrupt("no rows (\"rows\"); expected a report of penstock bench or tune");
  const std::vector<Members> datasets = report.objects("datasets");
  const Members& fastest =
      *std::ranges::max_element(rows, {}, [](const Members& row) { return row.required("samples_per_s"); });
  Report out;
  const auto add_dataset = [&](const char* name, const char* fact) {
    const std::string values = joined_text(datasets, ", ", [&](const Members& one) { return one.text(name); });
    if (!values.empty()) out.facts.push_back({fact, values, true});
  };
  add_dataset("path", "dataset");
  add_dataset("samples", "samples");
  std::vector<Fact> settings;
  for (const char* name : {"task", "batch_size"}) fastest.add_to(settings, name, true);
  for (const char* name : {"workers", "prefetch", "engine", "cache", "consumer", "device"})
    fastest.add_to(settings, name);
  for (Fact& fact : settings) out.facts.push_back({fact.name + " of the fastest row", fact.value, fact.of_work});
  if (report.has("machine")) {
    const Members machine = report.object("machine");
    for (const char* name : {"cpu", "usable_cores", "kernel", "file_system"}) machine.add_to(out.facts, name);
  }
  report.add_to(out.facts, "penstock");
  out.tables = {rates_table(rows), fastest_table(fastest), split_table(fastest), stages_table(fastest)};
  return out;
}

}  // namespace penstock::overview
