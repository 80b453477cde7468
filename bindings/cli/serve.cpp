#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <bench/measure/units.hpp>
#include <penstock/batch_server.hpp>
#include <penstock/error.hpp>

#include "command.hpp"
#include "open.hpp"
#include "output.hpp"

namespace penstock::cli {
namespace {

struct ServeArguments {
  std::vector<std::string> datasets = {};
  ServeOptions server = {};
  OpenOptions open = {};
};

// Until it is interrupted, which is how it ends well.
int serve(const ServeArguments& options) {
  std::vector<Dataset> datasets;
  for (const std::string& path : options.datasets) datasets.push_back(open_with_progress(path, options.open));
  const BatchServer server(datasets, options.server);
  for (const Dataset& dataset : datasets)
    std::fprintf(stderr, "penstock: serves %s (%llu samples) at %s\n", dataset.path().c_str(),
                 static_cast<unsigned long long>(dataset.size()), server.address().c_str());
  while (!interrupted()) std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const ServeStats stats = server.stats();
  print("filled " + std::to_string(stats.batches) + " batches of " + std::to_string(stats.rows) + " rows, " +
        bytes_text(stats.bytes) + "; refused " + std::to_string(stats.refused) + " connections\n");
  return 0;
}

}  // namespace

Command serve_command(CLI::App& app) {
  const auto options = std::make_shared<ServeArguments>();
  CLI::App* command = app.add_subcommand("serve", "Fill batches for loaders on other machines, until interrupted");
  command->add_option("PATH", options->datasets, "Datasets that the loaders open, too, under any path")->required();
  command
      ->add_option("--address", options->server.address,
                   "HOST:PORT to listen at. The default accepts loaders of this machine only; 0.0.0.0:7710 accepts "
                   "all. Port 0: any")
      ->capture_default_str();
  command->add_option("--workers", options->server.workers, "Threads for each set of transforms; 0: the usable cores")
      ->capture_default_str();
  command
      ->add_option("--connections", options->server.most_connections, "Connections at a time; more are closed at once")
      ->capture_default_str();
  command
      ->add_option("--patience", options->server.patience,
                   "Seconds after which a loader that takes nothing loses its connection")
      ->capture_default_str();
  add_open_options(*command, options->open);
  command->footer(
      "The environment variable PENSTOCK_TOKEN must contain the same 16 or more characters as in the loaders' "
      "processes.\n"
      "Example: PENSTOCK_TOKEN=$(openssl rand -hex 16) penstock serve /data/photos --address 0.0.0.0:7710\n"
      "Then: ps.Loader(\"/data/photos\", servers=[\"node7:7710\"], ...)");
  return {command, [options] { return serve(*options); }};
}

}  // namespace penstock::cli
