#include <cstdio>
#include <memory>
#include <span>

#include <base/machine.hpp>
#include <bench/measure/units.hpp>
#include <bench/report/report.hpp>
#include <bench/report/table.hpp>
#include <bench/tryout/tune.hpp>
#include <penstock/error.hpp>
#include <storage/uring/uring_refusal.hpp>

#include "bench_options.hpp"
#include "command.hpp"
#include "output.hpp"

namespace penstock::cli {
namespace {

void tell(const BenchRow& row) {
  std::fprintf(stderr, "penstock: %u workers, prefetch %u, batch size %u: %s samples/s\n", row.setting.workers,
               row.setting.prefetch, row.setting.batch_size, fixed(row.samples_per_s.median, 1).c_str());
}

std::string table_of(const TuneResult& result) {
  Table table(
      {"workers", "prefetch", "batch", "samples/s", "predicted", "data wait %", "first batch ms", "peak MB", ""});
  for (std::size_t i = 0; i < result.tried.size(); ++i) {
    const BenchRow& row = result.tried[i];
    table.add({std::to_string(row.setting.workers), std::to_string(row.setting.prefetch),
               std::to_string(row.setting.batch_size), fixed(row.samples_per_s.median, 1),
               fixed(result.predicted[i], 1), fixed(row.data_wait_percent, 1), fixed(row.first_batch_ms, 1),
               fixed(row.peak_memory_mb, 0), row.setting == result.best.setting ? "<- best" : ""});
  }
  return table.text();
}

struct TuneArguments : BenchOptions {
  std::string dataset, json;
};

std::string json_of(const Subject& subject, const TuneResult& result, const TrialOptions& trial) {
  BenchReport report;
  report.machine = this_machine(uring_refusal());
  report.file_system = file_system_of(subject.dataset);
  report.consumer = trial.consumer.name();
  report.subjects.push_back({summarise(subject.dataset), subject.task.name, subject.task.reason});
  report.result.rows = result.tried;
  return to_json(report, result);
}

int run(const TuneArguments& options) {
  TuneOptions tune_options;
  tune_options.trial = options.trial();
  tune_options.workers = options.workers;
  tune_options.prefetch = options.prefetch;
  tune_options.batch_sizes = options.batch_sizes;
  tune_options.seconds = options.seconds;
  tune_options.tried = tell;
  require_writable({options.json});
  const Subject subject = options.subject(options.dataset);
  fill_disk_caches(std::span(&subject, 1), tune_options.trial);
  const TuneResult result = tune(subject, tune_options);
  if (!options.json.empty()) write_report(options.json, json_of(subject, result, tune_options.trial));
  if (options.json == "-") return 0;
  print("task " + subject.task.name + " (" + subject.task.reason + ")\n\n" + table_of(result) + "\n" +
        std::to_string(result.tried.size()) + " of " + std::to_string(result.settings) + " settings run; " +
        result.reason + "\n\nC++     " + result.cpp_line + "\nPython  " + result.python_line + "\n");
  return 0;
}

}  // namespace

Command tune_command(CLI::App& app) {
  const auto options = std::make_shared<TuneArguments>();
  options->seconds = 2;
  CLI::App* command = app.add_subcommand("tune", "Find the best setting without trying all of them");
  command->add_option("DATASET", options->dataset, "Dataset of any format, a folder of files, or the file of a mixture")
      ->required();
  options->declare(*command);
  command->add_option("--json", options->json, "Write the result here; - for stdout");
  command->footer(
      "Examples:\n"
      "  penstock tune train.tar.d\n"
      "  penstock tune train.tar.d --train-step sleep:25 --batch-size 128     the cheapest setting that keeps up");
  return {command, [options] { return run(*options); }};
}

}  // namespace penstock::cli
