#include <memory>
#include <optional>
#include <string>

#include <base/cores.hpp>
#include <bench/report/check_report.hpp>
#include <bench/report/report.hpp>
#include <loader/model/demands.hpp>
#include <loader/model/gains.hpp>
#include <storage/uring/uring_refusal.hpp>

#include "bench_options.hpp"
#include "command.hpp"
#include "output.hpp"
#include "progress.hpp"

namespace penstock::cli {
namespace {

struct BenchArguments : BenchOptions {
  std::vector<std::string> datasets;
  std::string json, html, trace, machine;
  bool check = false;
  bool mock_loader = false, stall_split = false, digest = false, plain = false;
  unsigned rounds = 0;
};

// Every combination of the lists; the first one is the base.
std::vector<Setting> settings_of(const BenchArguments& options) {
  const std::vector<unsigned> workers = options.workers.empty() ? std::vector{usable_cores()} : options.workers;
  const std::vector<unsigned> prefetch = options.prefetch.empty() ? std::vector{2U} : options.prefetch;
  std::vector<Setting> settings;
  for (const std::uint32_t batch_size : options.batch_sizes)
    for (const unsigned depth : prefetch)
      for (const unsigned count : workers) settings.push_back({count, depth, batch_size});
  return settings;
}

int run_check(const BenchArguments& options, const std::vector<Subject>& subjects) {
  const std::vector<Setting> settings = settings_of(options);
  CheckOptions check_options;
  check_options.base = settings.front();
  check_options.settings.assign(settings.begin() + 1, settings.end());
  check_options.seconds = options.seconds;
  if (options.rounds != 0) check_options.rounds = options.rounds;
  check_options.trial = options.trial();
  std::vector<ReportedCheck> checks;
  {
    Progress progress("measuring", "windows");
    check_options.progress = [&](std::uint64_t done, std::uint64_t total) { progress(done, total); };
    for (const Subject& subject : subjects)
      checks.push_back({subject.dataset.path().string(), subject.task.name, check(subject, check_options)});
  }
  if (options.json != "-") print(to_text(checks));
  if (!options.json.empty()) write_report(options.json, to_json(checks));
  return 0;
}

std::vector<Advice> advice_of(const BenchArguments& options, const std::vector<Subject>& subjects,
                              const BenchReport& report, const TrialOptions& trial) {
  std::optional<OtherMachine> other;
  if (!options.machine.empty()) other = OtherMachine::parse(options.machine);
  std::vector<Advice> advice;
  for (const BenchRow* row : report.fastest()) {
    const Subject& subject = subjects[row->subject];
    const MachineModel machine = calibrated(subject, row->setting.batch_size, trial);
    const Forecast plain = forecast_of(subject, row->setting, trial, row->stats, machine);
    const Tryouts tryouts = tried(subject, plain, trial, row->stats, options.seconds);
    const Forecast forecast = forecast_of(subject, row->setting, trial, row->stats, machine, tryouts.pixels);
    advice.push_back(advise(forecast, other, tryouts));
    advice.back().untold = untold(subject, forecast, trial, row->resident_share);
  }
  return advice;
}

int run(const BenchArguments& options) {
  // What is wrong fails before anything is measured.
  if (!options.machine.empty()) OtherMachine::parse(options.machine);
  require_writable({options.json, options.html, options.trace});
  SweepOptions sweep_options;
  sweep_options.trial = options.trial();
  std::vector<Subject> subjects;
  for (const std::string& dataset : options.datasets) subjects.push_back(options.subject(dataset));
  fill_disk_caches(subjects, sweep_options.trial);
  if (options.check) return run_check(options, subjects);
  sweep_options.workers = options.workers;
  if (!options.prefetch.empty()) sweep_options.prefetch = options.prefetch;
  sweep_options.batch_sizes = options.batch_sizes;
  sweep_options.seconds = options.seconds;
  sweep_options.rounds = options.rounds;
  sweep_options.efficiency = !options.plain;
  sweep_options.digest = options.digest;
  sweep_options.mock_loader = options.mock_loader;
  sweep_options.stall_split = options.stall_split;
  sweep_options.trace = options.trace;
  BenchReport report;
  {
    Progress progress("measuring", "windows");
    sweep_options.progress = [&](std::uint64_t done, std::uint64_t total) { progress(done, total); };
    report.result = sweep(subjects, sweep_options);
  }
  report.machine = this_machine(uring_refusal());
  report.file_system = file_system_of(subjects.front().dataset);
  report.consumer = sweep_options.trial.consumer.name();
  for (const Subject& subject : subjects)
    report.subjects.push_back({summarise(subject.dataset), subject.task.name, subject.task.reason});
  if (!options.plain && !options.digest && !options.mock_loader)
    report.advice = advice_of(options, subjects, report, sweep_options.trial);
  if (options.json != "-" && options.html != "-") print(to_text(report));
  if (!options.json.empty()) write_report(options.json, to_json(report));
  if (!options.html.empty()) write_report(options.html, to_html(report));
  return 0;
}

}  // namespace

Command bench_command(CLI::App& app) {
  const auto options = std::make_shared<BenchArguments>();
  CLI::App* command = app.add_subcommand("bench", "Measure loading with several settings and show where the time goes");
  command->add_option("DATASET", options->datasets, "Datasets of any format, or folders of files, measured in turns")
      ->required();
  options->declare(*command);
  command
      ->add_option("--rounds", options->rounds, "Measured windows per setting; 0: one for each half second, at least 3")
      ->capture_default_str();
  const auto mock = command->add_flag("--mock-loader", options->mock_loader,
                                      "Measure only the training step, with a loader that takes no time");
  command->add_flag(
      "--stall-split", options->stall_split,
      "With --train-step: split the step into computing, waiting for the cores and waiting for storage. This takes "
      "three more runs: no loader, the dataset in memory, and its pages dropped");
  const auto check = command->add_flag(
      "--verify-predictions", options->check,
      "Predict the rates of other settings from runs of the first one, measure them too, and print both. The settings "
      "are those of the lists or, without lists, the three with the largest predicted speed-up");
  const auto machine = command->add_option(
      "--machine", options->machine,
      "What-if prediction of the rate on another machine, given by some or all of cores=32,disk=3GB/s,step=40ms");
  const auto plain = command->add_flag(
      "--no-efficiency", options->plain,
      "Leave out the plain reference loop that is paired with every window. Predicted speed-ups are also left "
      "out, because they need the speed of the cores in that loop");
  const auto digest = command->add_flag("--digest", options->digest,
                                        "Run exactly one epoch per setting, and hash everything that it delivers");
  const auto trace = command->add_option(
      "--trace", options->trace,
      "Record one more window of the fastest row, and write it to this file as Chrome's JSON, for Perfetto");
  command->add_option("--json", options->json, "Write the report as JSON to this file; - for stdout");
  const auto html = command->add_option("--html", options->html, "Write the report to this file as one HTML page");
  for (CLI::Option* other : {mock, html, trace}) check->excludes(other);
  for (CLI::Option* other : {check, mock, plain, digest}) machine->excludes(other);
  command->footer(
      "Examples:\n"
      "  penstock bench train.tar.d\n"
      "  penstock bench train.tar.d --workers 1,2,4 --prefetch 1,2 --batch-size 64,256 --html report.html\n"
      "  penstock bench photos train.tar.d train.lmdb.d     one table that compares them\n"
      "  penstock bench train.tar.d --train-step sleep:25     does the loader keep up with a 25 ms step?\n"
      "  penstock bench train.tar.d --train-step sleep:25 --stall-split      do a faster disk or more cores help?\n"
      "  penstock bench train.tar.d --train-step mlperf:resnet50-h100        how many such accelerators does it feed?\n"
      "  penstock bench train.tar.d --device cuda           with copies to the GPU, and a plain loop of copies\n"
      "  penstock bench train.tar.d --trace trace.json      a trace of every thread, for https://ui.perfetto.dev\n"
      "  penstock bench train.tar.d --verify-predictions    the best changes, predicted and measured\n"
      "  penstock bench train.tar.d --machine cores=32,disk=3GB/s,step=40ms      predicted rate of another machine\n"
      "  penstock bench train.tar.d --digest --json -       one epoch; the hash is equal for all workers, engines and "
      "formats");
  return {command, [options] { return run(*options); }};
}

}  // namespace penstock::cli
