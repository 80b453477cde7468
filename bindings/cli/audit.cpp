#include <cstddef>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <base/printable.hpp>
#include <penstock/error.hpp>
#include <penstock/ledger.hpp>

#include "command.hpp"
#include "open.hpp"
#include "output.hpp"

namespace penstock::cli {
namespace {

struct AuditArguments {
  std::vector<std::string> ledgers;
  std::string dataset, json;
};

int run(const AuditArguments& options) {
  require_writable({options.json});
  std::optional<Dataset> dataset;
  if (!options.dataset.empty()) dataset = open_with_progress(options.dataset);
  const bool several = options.ledgers.size() > 1;
  std::string text, json, faults;
  std::size_t good = 0;
  for (const std::string& ledger : options.ledgers) {
    LedgerAudit audit;
    try {
      audit = audit_ledger(ledger, dataset ? &*dataset : nullptr);
    } catch (const Error& error) {
      if (!several) throw;
      faults += "penstock: error: " + std::string(error.what()) + "\n";
      json += (json.empty() ? "" : ",\n") + ("{\"error\": " + double_quoted(error.what()) + "}");
      continue;
    }
    text += several ? ledger + ":\n" + to_text(audit) + "\n" : to_text(audit);
    json += (json.empty() ? "" : ",\n") + to_json(audit);
    good += audit.good();
    if (!audit.good())
      faults += "penstock: error: " + ledger + ": " + std::to_string(audit.faults.size()) +
                (audit.faults.size() == 1 ? " fault\n" : " faults\n");
  }
  if (several)
    text += std::to_string(good) + " of " + std::to_string(options.ledgers.size()) + " delivery logs without faults\n";
  if (options.json != "-") print(text);
  if (!options.json.empty()) write_report(options.json, several ? "[" + json + "]" : json);
  std::fputs(faults.c_str(), stderr);
  return faults.empty() ? 0 : 1;
}

}  // namespace

Command audit_command(CLI::App& app) {
  const auto options = std::make_shared<AuditArguments>();
  CLI::App* command = app.add_subcommand("audit", "Check a delivery log: each sample must be delivered once per epoch");
  command
      ->add_option("LEDGER", options->ledgers,
                   "Folders of delivery logs (`delivery_log` of the loaders); each is audited separately")
      ->required();
  command->add_option("--dataset", options->dataset,
                      "Dataset that names the missing and repeated samples in the report");
  command->add_option("--json", options->json, "Write the report as JSON to this file; - for stdout");
  command->footer(
      "Examples:\n  penstock audit run/ledger\n  penstock audit search/*\n  penstock audit run/ledger --dataset "
      "train.tar.d --json - | jq "
      ".faults\n"
      "Each epoch has a row, with its faults below it. Any fault makes the exit code 1. With several folders, the JSON "
      "is a "
      "list.");
  return {command, [options] { return run(*options); }};
}

}  // namespace penstock::cli
