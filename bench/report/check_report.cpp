#include <cmath>
#include <nlohmann/json.hpp>

#include <bench/measure/units.hpp>
#include <bench/report/check_report.hpp>
#include <bench/report/gain_json.hpp>
#include <bench/report/table.hpp>

namespace penstock {
namespace {

using Json = nlohmann::ordered_json;

std::string quartiles(const Spread& rate) {
  return fixed(rate.low, 1) + "-" + fixed(rate.high, 1);
}

std::string signed_percent(double share) {
  return (share < 0 ? "-" : "+") + fixed(100 * std::abs(share), 1);
}

}  // namespace

std::string to_text(const std::vector<ReportedCheck>& checks) {
  std::string text;
  for (const ReportedCheck& check : checks) {
    const CheckResult& result = check.result;
    text += check.task + " of " + check.dataset + ": " + std::to_string(result.base.workers) +
            (result.base.workers == 1 ? " worker" : " workers") + ", prefetch " + std::to_string(result.base.prefetch) +
            ", batch size " + std::to_string(result.base.batch_size) + ": " + fixed(result.measured.median, 1) +
            " samples/s (" + quartiles(result.measured) + ")\n";
    Table table({"setting", "predicted", "measured", "quartiles", "off %", "limited by"});
    for (const CheckRow& row : result.rows)
      table.add({row.name, fixed(row.predicted, 1), fixed(row.measured.median, 1), quartiles(row.measured),
                 signed_percent(row.error()), row.limit.empty() ? "-" : row.limit});
    const auto add_notes = [&] {
      for (const CheckRow& row : result.rows)
        if (!row.note.empty()) text += "  " + row.name + ": " + row.note + "\n";
      for (const std::string& note : result.notes) text += "  " + note + "\n";
    };
    if (result.rows.empty()) {
      add_notes();
      text += "  no single setting gains 3 %, according to a model of the pipeline: there is nothing to check\n";
      continue;
    }
    text += table.text("  ");
    add_notes();
    for (const Gain& gain : result.gains) text += "  " + gain.text + "\n";
  }
  return text;
}

std::string to_json(const std::vector<ReportedCheck>& checks) {
  Json json{{"penstock", PENSTOCK_VERSION}, {"checks", Json::array()}};
  for (const ReportedCheck& check : checks) {
    const CheckResult& result = check.result;
    Json rows = Json::array(), gains = Json::array();
    for (const CheckRow& row : result.rows)
      rows.push_back({{"setting", row.name},
                      {"workers", row.setting.workers},
                      {"prefetch", row.setting.prefetch},
                      {"batch_size", row.setting.batch_size},
                      {"predicted_samples_per_s", row.predicted},
                      {"samples_per_s", row.measured.median},
                      {"samples_per_s_quartiles", {row.measured.low, row.measured.high}},
                      {"error", row.error()},
                      {"limit", row.limit},
                      {"note", row.note}});
    for (const Gain& gain : result.gains) gains.push_back(json_of(gain));
    json["checks"].push_back({{"dataset", check.dataset},
                              {"task", check.task},
                              {"base",
                               {{"workers", result.base.workers},
                                {"prefetch", result.base.prefetch},
                                {"batch_size", result.base.batch_size},
                                {"samples_per_s", result.measured.median},
                                {"samples_per_s_quartiles", {result.measured.low, result.measured.high}}}},
                              {"core_speed_all_at_work", result.machine.full_speed},
                              {"rows", std::move(rows)},
                              {"gains", std::move(gains)},
                              {"notes", result.notes}});
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace penstock
