#include "bench_options.hpp"

#include <cmath>
#include <cstdlib>

#include <bench/measure/units.hpp>
#include <penstock/device/device.hpp>
#include <penstock/storage/read/read_engine.hpp>

#include "open.hpp"
#include "output.hpp"
#include "progress.hpp"

namespace penstock::cli {

void BenchOptions::declare(CLI::App& command) {
  std::vector<std::string> tasks(task_names().begin(), task_names().end());
  std::string accelerators;
  for (const EmulatedAccelerator& accelerator : emulated_accelerators())
    accelerators += (accelerators.empty() ? "" : ", ") + std::string(accelerator.name);
  command.add_option("--task", task, "What is done with the samples; guessed from the fields when not given")
      ->check(CLI::IsMember(tasks));
  command.add_option("--workers", workers, "Decoding threads, a list such as 1,2,4; usable cores when not given")
      ->delimiter(',');
  command.add_option("--prefetch", prefetch, "Ready batches kept ahead, a list")->delimiter(',');
  const CLI::Option* batch_size =
      command.add_option("--batch-size", batch_sizes, "Rows of a batch, a list")->delimiter(',')->capture_default_str();
  command.add_option("--seconds", seconds, "Measured time for each setting")
      ->check(CLI::Validator(
          [](const std::string& word) {
            char* end = nullptr;
            const double value = std::strtod(word.c_str(), &end);
            return *end == '\0' && value > 0 && std::isfinite(value)
                       ? ""
                       : "it must be a number above 0, and '" + word + "' is none";
          },
          "POSITIVE"))
      ->capture_default_str();
  command.add_option("--engine", engine, "How bytes are read")
      ->check(CLI::IsMember({"auto", "io_uring", "direct", "pread", "gather"}))
      ->capture_default_str();
  command.add_flag("--direct-io", direct_io, "Read past the page cache (O_DIRECT) where the file system allows it");
  command
      .add_option("--shuffle-block", shuffle_block,
                  "Shuffle blocks of so many neighbours, and the samples of some blocks; 0: all samples")
      ->capture_default_str();
  add_open_options(command, open);
  drawing.declare(command);
  buckets.declare(command);
  command.add_flag("--cold", cold, "Drop the dataset's pages from memory before every window");
  command.add_option("--cache", cache, "What the loader keeps of samples; measured from the second epoch on")
      ->check(CLI::IsMember({"none", "encoded", "decoded"}))
      ->capture_default_str();
  command.add_option("--cache-bytes", cache_bytes, "Limit of the cache")->capture_default_str();
  command
      .add_option("--cache-scope", cache_scope,
                  "Who shares the cache: process, or node (all processes of this machine that read the same)")
      ->check(CLI::IsMember({"process", "node"}))
      ->capture_default_str();
  command.add_option("--cache-dir", cache_dir,
                     "Keep what is read from a store on this node's disk, in this folder or, with auto, one that is "
                     "chosen; filled before anything is measured, but with --cold");
  command
      .add_option("--cache-limit", cache_limit,
                  "Bytes that the folder may take (200GiB); 0: as it was made with, or some of the free ones")
      ->capture_default_str();
  command
      .add_option(
          "--checksums", checksums,
          "Compare values with the CRC-32C that pack recorded: off, first (the first time they are read), always")
      ->check(CLI::IsMember({"off", "first", "always"}))
      ->capture_default_str();
  command
      .add_option(
          "--consumer", consumer,
          "Stand-in for training, for each batch: none, busy:MS, sleep:MS, or mlperf:NAME, an accelerator of MLPerf "
          "Storage, whose batch size is taken unless one is given: " +
              accelerators)
      ->capture_default_str();
  command.add_option("--device", device,
                     "Copy batches there: cuda, cuda:N, or host, a processor in a device's place; else they stay");
  command.add_option("--where", where, "With a device: where the last steps of images and points are done")
      ->check(CLI::IsMember({"auto", "host", "device"}))
      ->capture_default_str();
  command.add_flag("--gpu-direct", gpu_direct,
                   "Experimental. With a device: it reads rows that are stored as they are itself (GPUDirect Storage)");
  command.add_option("--gpu-jpeg", gpu_jpeg, "Experimental. With a device: the share of JPEGs that it decodes, 0 to 1")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command.add_option("--seed", seed, "Of the order and of every random draw")->capture_default_str();
  command.parse_complete_callback([this, batch_size] {
    constexpr std::string_view kKind = "mlperf:";
    if (batch_size->count() > 0 || !consumer.starts_with(kKind)) return;
    if (const auto* known = emulated_accelerator(std::string_view(consumer).substr(kKind.size())))
      batch_sizes = {known->batch_size};
  });
}

TrialOptions BenchOptions::trial() const {
  TrialOptions trial;
  trial.engine = engine_named(engine);
  trial.direct_io = direct_io;
  trial.consumer = Consumer::parse(consumer);
  if (!device.empty()) trial.device = open_device(device);
  trial.where = where == "host" ? Where::host : where == "device" ? Where::device : Where::automatic;
  trial.gpu_direct = gpu_direct;
  trial.gpu_jpeg = gpu_jpeg;
  trial.seed = seed;
  trial.cold = cold;
  trial.shuffle_block = shuffle_block;
  trial.shuffle_window = drawing.shuffle_window;
  trial.cache = cache_named(cache);
  trial.cache_bytes = parse_size(cache_bytes);
  trial.cache_scope = cache_scope_named(cache_scope);
  trial.cache_dir = cache_dir;
  trial.cache_limit = parse_size(cache_limit);
  trial.checksums = checksums_named(checksums);
  trial.keep_going = [] { return !interrupted(); };
  return trial;
}

void fill_node_caches(std::span<const Subject> subjects, const TrialOptions& trial) {
  if (trial.cache_dir.empty() || trial.cold) return;
  for (const Subject& subject : subjects) {
    Progress progress("filling the cache", Progress::kBytes);
    fill_node_cache(subject.dataset, trial,
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
