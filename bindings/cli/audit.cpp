#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include <penstock/ledger.hpp>

#include "command.hpp"
#include "open.hpp"
#include "output.hpp"

namespace penstock::cli {
namespace {

struct AuditArguments {
  std::string ledger, dataset, json;
};

int run(const AuditArguments& options) {
  require_writable({options.json});
  std::optional<Dataset> dataset;
  if (!options.dataset.empty()) dataset = open_with_progress(options.dataset);
  const LedgerAudit audit = audit_ledger(options.ledger, dataset ? &*dataset : nullptr);
  if (options.json != "-") print(to_text(audit));
  if (!options.json.empty()) write_report(options.json, to_json(audit));
  if (audit.good()) return 0;
  std::fprintf(stderr, "penstock: error: %s: %zu %s\n", options.ledger.c_str(), audit.faults.size(),
               audit.faults.size() == 1 ? "fault" : "faults");
  return 1;
}

}  // namespace

Command audit_command(CLI::App& app) {
  const auto options = std::make_shared<AuditArguments>();
  CLI::App* command = app.add_subcommand("audit", "Check a delivery log: each sample must be delivered once per epoch");
  command->add_option("LEDGER", options->ledger, "Folder of the delivery log (`delivery_log` of the loaders)")
      ->required();
  command->add_option("--dataset", options->dataset,
                      "Dataset that names the missing and repeated samples in the report");
  command->add_option("--json", options->json, "Write the report as JSON to this file; - for stdout");
  command->footer(
      "Examples:\n  penstock audit run/ledger\n  penstock audit run/ledger --dataset train.tar.d --json - | jq "
      ".faults\n"
      "Each epoch has a row, with its faults below it. Any fault makes the exit code 1.");
  return {command, [options] { return run(*options); }};
}

}  // namespace penstock::cli
