#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include <base/printable.hpp>
#include <formats/io/hash.hpp>
#include <penstock/ledger.hpp>

namespace penstock {
namespace {

using AuditJson = nlohmann::ordered_json;

constexpr std::size_t kKeysShown = 20;
constexpr std::array kColumns{"epoch", "samples",     "delivered", "missing", "twice",  "left out",
                              "bad",   "rolled back", "restores",  "ranks",   "verdict"};
using AuditRow = std::array<std::string, kColumns.size()>;

std::string ranks_of(const AuditedEpoch& epoch) {
  return joined_text(epoch.worlds, ", ", [](std::uint32_t world) { return std::to_string(world); });
}

AuditRow row_of(const AuditedEpoch& epoch) {
  return {std::to_string(epoch.epoch),       std::to_string(epoch.samples),
          std::to_string(epoch.delivered),   std::to_string(epoch.missing.count),
          std::to_string(epoch.twice.count), std::to_string(epoch.left_out),
          std::to_string(epoch.bad),         std::to_string(epoch.taken_back),
          std::to_string(epoch.turns - 1),   ranks_of(epoch),
          std::string(name(epoch.verdict))};
}

std::string table_of(const std::vector<AuditedEpoch>& epochs) {
  std::vector<AuditRow> rows(1);
  std::ranges::copy(kColumns, rows.front().begin());
  for (const AuditedEpoch& epoch : epochs) rows.push_back(row_of(epoch));
  std::array<std::size_t, kColumns.size()> widths{};
  for (const AuditRow& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const AuditRow& row : rows) {
    for (std::size_t i = 0; i + 1 < row.size(); ++i)
      text += std::string(widths[i] - row[i].size(), ' ') + row[i] + "  ";
    text += row.back() + "\n";
  }
  return text;
}

std::string keys_of(const AuditedEpoch& epoch, const AuditedPositions& positions, const char* how) {
  if (positions.keys.empty()) return {};
  std::string text = "epoch " + std::to_string(epoch.epoch) + ", " + how + ":";
  for (std::size_t i = 0; i < std::min(kKeysShown, positions.keys.size()); ++i) text += " " + positions.keys[i];
  if (positions.count > kKeysShown) text += " and " + std::to_string(positions.count - kKeysShown) + " more";
  return text + "\n";
}

std::string counted(std::size_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

AuditJson json_of(const AuditedPositions& positions) {
  AuditJson json = {{"count", positions.count}, {"positions", AuditJson::array()}};
  for (const auto& [first, end] : positions.ranges) json["positions"].push_back({first, end});
  if (!positions.samples.empty()) {
    json["samples"] = positions.samples;
    json["keys"] = positions.keys;
  }
  return json;
}

}  // namespace

std::string to_text(const LedgerAudit& audit) {
  std::string text = "ledger of " + one_line(audit.dataset) + ", " + counted(audit.files, "file") + "\n";
  if (!audit.epochs.empty()) text += table_of(audit.epochs);
  for (const AuditedEpoch& epoch : audit.epochs) {
    text += keys_of(epoch, epoch.missing, "not delivered");
    text += keys_of(epoch, epoch.twice, "delivered more than once");
  }
  for (const std::string& note : audit.notes) text += "note: " + one_line(note) + "\n";
  for (const std::string& fault : audit.faults) text += "fault: " + one_line(fault) + "\n";
  const auto proved =
      static_cast<std::size_t>(std::ranges::count(audit.epochs, AuditedEpoch::Verdict::proved, &AuditedEpoch::verdict));
  if (!audit.good()) return text + counted(audit.faults.size(), "fault") + "\n";
  if (proved == 0) return text + "no faults, and no complete epoch\n";
  std::uint64_t left_out = 0;
  for (const AuditedEpoch& epoch : audit.epochs)
    if (epoch.verdict == AuditedEpoch::Verdict::proved) left_out += epoch.left_out;
  text += "proved: " + counted(proved, "epoch") + ", each sample delivered once";
  if (left_out > 0) text += ", except for " + counted(left_out, "sample") + " that last_batch left out";
  return text + "\n";
}

std::string to_json(const LedgerAudit& audit) {
  AuditJson epochs = AuditJson::array();
  for (const AuditedEpoch& epoch : audit.epochs) {
    epochs.push_back({{"epoch", epoch.epoch},
                      {"verdict", name(epoch.verdict)},
                      {"samples", epoch.samples},
                      {"delivered", epoch.delivered},
                      {"left_out", epoch.left_out},
                      {"bad", epoch.bad},
                      {"taken_back", epoch.taken_back},
                      {"restores", epoch.turns - 1},
                      {"worlds", epoch.worlds},
                      {"missing", json_of(epoch.missing)},
                      {"twice", json_of(epoch.twice)}});
  }
  const AuditJson json = {{"ledger", one_line(audit.ledger.string())},
                          {"dataset", audit.dataset},
                          {"fingerprint", hexadecimal(audit.fingerprint)},
                          {"files", audit.files},
                          {"good", audit.good()},
                          {"epochs", std::move(epochs)},
                          {"faults", audit.faults},
                          {"notes", audit.notes}};
  return json.dump(2, ' ', false, AuditJson::error_handler_t::replace) + "\n";
}

}  // namespace penstock
