#include <memory>
#include <string>

#include <bench/measure/dataset_summary.hpp>

#include "command.hpp"
#include "open.hpp"
#include "output.hpp"

namespace penstock::cli {
namespace {

struct InfoArguments {
  std::string dataset;
  bool json = false;
  OpenOptions open;
};

int run(const InfoArguments& options) {
  const DatasetSummary summary = summarise(open_with_progress(options.dataset, options.open));
  print(options.json ? to_json(summary) + "\n" : to_text(summary));
  return 0;
}

}  // namespace

Command info_command(CLI::App& app) {
  const auto options = std::make_shared<InfoArguments>();
  CLI::App* command = app.add_subcommand("info", "Show the contents of a dataset: samples, fields, sizes, checksums");
  command->add_option("DATASET", options->dataset, "Dataset of any format, or a folder of files")->required();
  command->add_flag("--json", options->json, "Print JSON");
  add_open_options(*command, options->open);
  command->footer("Examples:\n  penstock info train.tar.d\n  penstock info photos --json | jq .samples");
  return {command, [options] { return run(*options); }};
}

}  // namespace penstock::cli
