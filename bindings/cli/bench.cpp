#include <memory>
#include <string>

#include <penstock/base/error.hpp>
#include <penstock/bench/report/report.hpp>
#include <penstock/loader/read/uring_refusal.hpp>

#include "bench_options.hpp"
#include "command.hpp"
#include "open.hpp"
#include "output.hpp"
#include "progress.hpp"

namespace penstock::cli {
namespace {

struct BenchArguments : BenchOptions {
  std::vector<std::string> datasets;
  std::string json, html;
  bool mock_loader = false, digest = false, plain = false;
  unsigned rounds = 0;
};

int run(const BenchArguments& options) {
  SweepOptions sweep_options;
  sweep_options.trial = options.trial();
  std::vector<Subject> subjects;
  for (const std::string& dataset : options.datasets) subjects.push_back(options.subject(dataset));
  sweep_options.workers = options.workers;
  if (!options.prefetch.empty()) sweep_options.prefetch = options.prefetch;
  sweep_options.batch_sizes = options.batch_sizes;
  sweep_options.seconds = options.seconds;
  sweep_options.rounds = options.rounds;
  sweep_options.efficiency = !options.plain;
  sweep_options.digest = options.digest;
  sweep_options.mock_loader = options.mock_loader;
  BenchReport report;
  {
    Progress progress("measuring", "windows");
    sweep_options.progress = [&](std::uint64_t done, std::uint64_t total) { progress(done, total); };
    report.result = sweep(subjects, sweep_options);
  }
  report.machine = this_machine(uring_refusal());
  report.file_system = disk_of(subjects.front().dataset.path()).file_system;
  report.consumer = sweep_options.trial.consumer.name();
  for (const Subject& subject : subjects)
    report.subjects.push_back({summarise(subject.dataset), subject.task.name, subject.task.reason});
  if (options.json != "-") print(to_text(report));
  if (!options.json.empty()) write_report(options.json, to_json(report));
  if (!options.html.empty()) write_report(options.html, to_html(report));
  return 0;
}

}  // namespace

Command bench_command(CLI::App& app) {
  const auto options = std::make_shared<BenchArguments>();
  CLI::App* command = app.add_subcommand("bench", "Measure loading, over settings, and say where the time goes");
  command->add_option("DATASET", options->datasets, "Datasets of any packing, or folders of files, measured in turns")
      ->required();
  options->declare(*command);
  command->add_option("--rounds", options->rounds, "Windows for each setting; 0: one for each half second, at least 3")
      ->capture_default_str();
  command->add_flag("--mock-loader", options->mock_loader, "The consumer alone, with a loader that takes no time");
  command->add_flag("--no-efficiency", options->plain, "Leave out the plain loop that every window is paired with");
  command->add_flag("--digest", options->digest,
                    "Exactly one epoch for each setting, and a hash of all that it delivered");
  command->add_option("--json", options->json, "Write the report here; - for stdout");
  command->add_option("--html", options->html, "Write the report here, as one page");
  command->footer(
      "Examples:\n"
      "  penstock bench train.tar.d\n"
      "  penstock bench train.tar.d --workers 1,2,4 --prefetch 1,2 --batch-size 64,256 --html report.html\n"
      "  penstock bench photos train.tar.d train.lmdb.d     one table that compares them\n"
      "  penstock bench train.tar.d --consumer sleep:25     does the loader keep up with a 25 ms step?\n"
      "  penstock bench train.tar.d --device cuda           with copies to the GPU, beside a plain loop of them\n"
      "  penstock bench train.tar.d --digest --json -       one epoch; equal whatever workers, engine or packing");
  return {command, [options] { return run(*options); }};
}

}  // namespace penstock::cli
