#include <memory>
#include <string>

#include <penstock/bench/units.hpp>
#include <penstock/bench/workload.hpp>

#include "command.hpp"
#include "output.hpp"
#include "progress.hpp"

namespace penstock::cli {
namespace {

struct Options {
  std::string kind, destination;
  SynthOptions synth;
};

int run(const Options& options) {
  Progress progress("writing", "files");
  const auto report = [&](std::uint64_t done, std::uint64_t total) { return progress(done, total); };
  if (options.kind == "images")
    synth_images(options.destination, options.synth, report);
  else
    synth_icons(options.destination, options.synth, report);
  return 0;
}

}  // namespace

Command synth_command(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("synth", "Write realistic file-per-sample data for demos and benches");
  command->add_option("KIND", options->kind, "images: photograph-like JPEGs of about 110 KB; icons: 32 x 32 PNGs")
      ->required()
      ->check(CLI::IsMember({"images", "icons"}));
  command->add_option("DST", options->destination, "Folder to make; it must be new or empty")->required();
  command->add_option("-n,--count", options->synth.count, "Files")->capture_default_str();
  command->add_option("--seed", options->synth.seed, "The same seed gives the same bytes")->capture_default_str();
  command->add_option("--classes", options->synth.classes, "Class folders")->capture_default_str();
  command->add_option("--workers", options->synth.workers, "Threads; 0: usable cores")->capture_default_str();
  command->footer("Examples:\n  penstock synth images photos -n 2000\n  penstock synth icons icons -n 20000 --seed 7");
  return {command, [options] { return run(*options); }};
}

}  // namespace penstock::cli
