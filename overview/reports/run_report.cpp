#include <algorithm>
#include <string>

#include <base/amounts.hpp>
#include <overview/reports/members.hpp>
#include <overview/reports/report_tables.hpp>
#include <penstock/error.hpp>

namespace penstock::overview {
namespace {

constexpr double kFormat = 1;

/// "epoch_starts_s" is shown as "epoch starts".
std::string shown_name(std::string member) {
  if (member.ends_with("_s")) member.resize(member.size() - 2);
  std::ranges::replace(member, '_', ' ');
  return member;
}

FigureTable step_table(const Members& loader, double step) {
  FigureTable out{.name = "Step", .figures = {{"step", "s", step, loader.number("plus_minus_s")}}};
  const double batch_size = loader.number("batch_size").value_or(0);
  if (batch_size == 0) return out;
  Figure rate{"samples per second", "samples/s", batch_size / step};
  if (const auto plus_minus = loader.number("plus_minus_s")) rate.plus_minus = rate.value * *plus_minus / step;
  out.figures.push_back(rate);
  return out;
}

FigureTable table_of(const std::string& name, const Members& loader, std::initializer_list<const char*> members) {
  FigureTable out{.name = name, .figures = {}};
  for (const char* member : members) loader.add_to(out, member, {shown_name(member), "s"});
  return out;
}

FigureTable ranks_table(const Members& report) {
  FigureTable out{.name = "Own work of the ranks", .figures = {}};
  for (const Members& rank : report.objects("ranks")) rank.add_to(out, "own_s", {"rank " + rank.text("rank"), "s"});
  return out;
}

/// Loaders after the first, such as that of a validation.
FigureTable others_table(const std::vector<Members>& loaders) {
  FigureTable out{.name = "Steps of other loaders", .figures = {}};
  for (std::size_t i = 1; i < loaders.size(); ++i) {
    const std::string name =
        std::to_string(i + 1) + ": " + loaders[i].text("kind") + "(" + loaders[i].text("dataset") + ")";
    loaders[i].add_to(out, "step_s", {name, "s", 0, loaders[i].number("plus_minus_s")});
  }
  return out;
}

}  // namespace

Report report_of_run(const nlohmann::json& root) {
  const Members report(root, "");
  if (const double format = report.required("penstock_run"); format != kFormat)
    throw Error::unsupported(text_of("format %g of the reports of penstock run; this version reads format 1", format));
  const std::vector<Members> loaders = report.objects("loaders");
  const Members& main = loaders.empty() ? report : loaders.front();
  const double step = main.number("step_s").value_or(0);
  if (step == 0)
    throw Error::unsupported("the report has no step time (\"step_s\"); the run must deliver two batches or more");
  Report out;
  report.add_to(out.facts, "program");
  for (const char* name : {"dataset", "batch_size"}) main.add_to(out.facts, name, true);
  for (const char* name : {"kind", "num_workers"}) main.add_to(out.facts, name);
  for (const char* name : {"cores", "rank", "world", "python", "torch", "machine"}) report.add_to(out.facts, name);
  if (report.has("diagnosis")) {
    report.object("diagnosis").add_to(out.facts, "cause");
  } else {
    report.add_to(out.facts, "cause");
  }
  out.tables = {step_table(main, step), table_of("Categories", main, {"load_s", "compute_s", "optimizer_s", "other_s"}),
                table_of("Parts", main,
                         {"first_batch_s", "load_longest_s", "epoch_starts_s", "collections_s", "collate_s", "fetch_s",
                          "fetch_collate_s", "device_copy_s", "device_work_s", "device_idle_s"}),
                ranks_table(report), others_table(loaders)};
  return out;
}

}  // namespace penstock::overview
