#include "bench_options.hpp"

#include <cmath>
#include <cstdlib>

#include <base/printable.hpp>
#include <device/device.hpp>

#include "command.hpp"
#include "open.hpp"
#include "option_flags.hpp"
#include "output.hpp"
#include "progress.hpp"

namespace penstock::cli {

void BenchOptions::declare(CLI::App& command) {
  std::vector<std::string> tasks(task_names().begin(), task_names().end());
  const std::string accelerators = joined_text(emulated_accelerators(), ", ", &EmulatedAccelerator::name);
  command.add_option("--task", task, "Preset of chains for the samples; guessed from the fields if not given")
      ->check(CLI::IsMember(tasks));
  command.add_option("--workers", workers, "Decoding threads, a list such as 1,2,4; usable cores if not given")
      ->delimiter(',');
  command.add_option("--prefetch", prefetch, "Ready batches kept ahead, a list")->delimiter(',');
  const CLI::Option* batch_size =
      command.add_option("--batch-size", batch_sizes, "Rows per batch, a list")->delimiter(',')->capture_default_str();
  command.add_option("--seconds", seconds, "Seconds to measure each setting")
      ->check(CLI::Validator(
          [](const std::string& word) {
            char* end = nullptr;
            const double value = std::strtod(word.c_str(), &end);
            return *end == '\0' && value > 0 && std::isfinite(value) ? ""
                                                                     : "must be a number above 0, not '" + word + "'";
          },
          "POSITIVE"))
      ->capture_default_str();
  for (const char* option : {"read_options.engine", "read_options.direct_io", "shuffle_block"})
    add_loader_flag(command, loader, option);
  add_open_options(command, open);
  drawing.declare(command);
  buckets.declare(command);
  command.add_flag("--cold", cold, "Drop the dataset's pages from memory before every window");
  add_loader_flag(command, loader, "cache.kind", "; measured from the second epoch");
  for (const char* option : {"cache.limit", "cache.shared"}) add_loader_flag(command, loader, option);
  add_loader_flag(command, loader, "disk_cache.path", "; filled before the measurement, except with --cold");
  for (const char* option : {"disk_cache.limit", "checksums"}) add_loader_flag(command, loader, option);
  command
      .add_option("--train-step", consumer,
                  "Simulated training step for each batch: none, busy:MS, sleep:MS or mlperf:NAME. mlperf:NAME is an "
                  "accelerator of MLPerf Storage, and sets its batch size unless --batch-size is given. NAME: " +
                      accelerators)
      ->capture_default_str();
  command.add_option(
      "--device", device,
      "Copy batches to this device: cuda, cuda:N, or host, which emulates a device on the CPU; by default, no copy");
  for (const char* option : {"device_options.finish_on", "device_options.gpu_direct"})
    add_loader_flag(command, loader, option);
  add_loader_flag(command, loader, "device_options.gpu_jpeg")->check(CLI::Range(0.0, 1.0));
  add_loader_flag(command, loader, "seed");
  command.parse_complete_callback([this, batch_size] {
    constexpr std::string_view kKind = "mlperf:";
    if (batch_size->count() > 0 || !consumer.starts_with(kKind)) return;
    if (const auto* known = emulated_accelerator(std::string_view(consumer).substr(kKind.size())))
      batch_sizes = {known->batch_size};
  });
}

TrialOptions BenchOptions::trial() const {
  TrialOptions trial;
  trial.loader = loader;
  trial.loader.shuffle_window = drawing.shuffle_window;
  if (!device.empty()) trial.loader.device_options.opened = open_device(device);
  trial.consumer = Consumer::parse(consumer);
  trial.cold = cold;
  trial.keep_going = [] { return !interrupted(); };
  return trial;
}

void fill_disk_caches(std::span<const Subject> subjects, const TrialOptions& trial) {
  if (trial.loader.disk_cache.path.empty() || trial.cold) return;
  for (const Subject& subject : subjects) {
    Progress progress("filling the cache", Progress::kBytes);
    fill_disk_cache(subject.dataset, trial,
                    [&](std::uint64_t done, std::uint64_t total) { return progress(done, total); });
  }
}

Subject BenchOptions::subject(const std::string& dataset) const {
  const Source source = open_source(dataset, open);
  Task chosen = task.empty() ? guess_task(source.dataset) : task_named(task, source.dataset);
  chosen.draws = drawing.draws(source.dataset);
  chosen.buckets = buckets.made(source.dataset);
  chosen.mixture = source.mixture;
  if (source.mixture != nullptr) {
    chosen.mixture_file = dataset;
    keep_common_fields(chosen, *source.mixture);
  }
  return {source.dataset, std::move(chosen)};
}

}  // namespace penstock::cli
