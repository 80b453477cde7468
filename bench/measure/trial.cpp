#include <algorithm>
#include <fstream>
#include <memory>
#include <string>

#include <base/memory.hpp>
#include <bench/measure/digest.hpp>
#include <bench/measure/residency.hpp>
#include <bench/measure/trial.hpp>
#include <device/device.hpp>
#include <device/device_memory.hpp>
#include <penstock/device.hpp>
#include <penstock/error.hpp>
#include <penstock/loader.hpp>
#include <storage/disk_cache/disk_cache.hpp>
#include <storage/disk_cache/warm.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kTogether = 4;  // copies between two reads of the clock, each from separate pages

// Bytes per second of a plain loop of copies, run for `duration`. Each copies `bytes` (at least 1) from memory that is
// page-locked if the device locks pages. Throws errors of the device.
double copy_rate(const std::shared_ptr<Device>& device, std::uint64_t bytes, std::chrono::nanoseconds duration) {
  Memory pages;
  pages.reserve(kTogether * bytes);
  std::fill_n(pages.data(), kTogether * bytes, std::byte{1});
  const Pin pin(device, pages.first(kTogether * bytes));
  const DeviceMemory memory(device, kTogether * bytes);
  const auto stream = device->make_stream();
  const auto begun = device->make_event(), ended = device->make_event();
  std::chrono::nanoseconds copying{};
  std::uint64_t copied = 0;
  const auto start = std::chrono::steady_clock::now();
  for (bool first = true; first || copied == 0 || std::chrono::steady_clock::now() - start < duration; first = false) {
    begun->record(stream->handle());
    for (std::uint64_t at = 0; at < kTogether * bytes; at += bytes)
      device->copy_in(memory.data() + at, pages.data() + at, bytes, stream->handle());
    ended->record(stream->handle());
    ended->wait();
    if (first) continue;  // these pages were never read before
    copying += device->between(*begun, *ended);
    copied += kTogether * bytes;
  }
  return static_cast<double>(copied) / std::max(1e-9, std::chrono::duration<double>(copying).count());
}

// Peak resident memory of this process since the last forget_peak_memory(), or since its start if the kernel cannot
// reset the peak. 0 if the kernel does not report it.
std::uint64_t peak_memory_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != "VmHWM:") continue;
    std::uint64_t kilobytes = 0;
    status >> kilobytes;
    return kilobytes * 1024;
  }
  return 0;
}

// Source: proc(5), /proc/pid/clear_refs: 5 resets the peak resident set size.
void forget_peak_memory() {
  std::ofstream("/proc/self/clear_refs") << "5";
}

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kCopyLoop{200};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void check(const TrialOptions& options) {
  if (options.keep_going && !options.keep_going()) throw Error::resource("interrupted");
}

Trial prepare(const Dataset& dataset, const TrialOptions& options) {
  Trial trial;
  trial.resident_share = options.cold ? drop_pages(dataset) : resident_share(dataset);
  forget_peak_memory();
  return trial;
}

Loader loader_for(const Dataset& dataset, LoaderOptions options, const TrialOptions& trial) {
  if (trial.make_engine) return Loader(dataset, std::move(options), trial.make_engine);
  return Loader(dataset, std::move(options));
}

// The next batch, if necessary of a later epoch. A dataset too small for one batch (last = drop) would never return
// one.
Batch next_of(Loader& loader) {
  for (int tries = 0; tries < 3; ++tries)
    if (auto batch = loader.next()) return std::move(*batch);
  throw Error::invalid_argument("an epoch has no batch", {.dataset = loader.dataset().path().string()});
}

}  // namespace

void fill_disk_cache(const Dataset& dataset, const TrialOptions& options,
                     const std::function<bool(std::uint64_t done, std::uint64_t total)>& progress) {
  if (options.loader.disk_cache.path.empty() || options.cold || !dataset.in_store()) return;
  warm(*DiskCache::open(options.loader.disk_cache.path, options.loader.disk_cache.limit), dataset, progress);
}

LoaderOptions loader_options(const Task& task, const Setting& setting, const TrialOptions& options) {
  LoaderOptions loader = options.loader;
  loader.batch_size = setting.batch_size;
  loader.shuffle = task.shuffle;
  loader.workers = setting.workers;
  loader.prefetch = setting.prefetch;
  loader.transforms = task.fields;
  loader.batching = task.buckets;
  loader.sampler = task.draws;
  loader.mixture = task.mixture;
  return loader;
}

namespace {

// Number of batches before those that are measured. They fill the pipeline and touch its slabs; with a cache, the epoch
// that fills it comes first. If a cold epoch is too short for both, all batches are measured.
std::uint64_t batches_before(const Loader& loader, const Setting& setting, const TrialOptions& options) {
  const std::uint64_t epoch = loader.batches(), fill = setting.prefetch + std::uint64_t{2};
  if (options.loader.cache.kind != CacheKind::none) return options.cold && epoch <= 2 * fill ? epoch : epoch + fill;
  return options.cold && epoch <= 2 * fill ? 0 : fill;
}

// Measures batches, and with a device their copies, until `duration` has passed.
void measure(Loader& loader, const TrialOptions& options, std::chrono::nanoseconds duration, Clock::time_point start,
             Trial& trial) {
  bool epoch_over = false;
  std::optional<Batch> batch;
  do {
    // Returns the slab before the next batch is requested, so that the loop holds one batch at a time.
    batch.reset();
    batch = next_of(loader);
    if (options.loader.device_options.opened != nullptr) batch->wait(kDefaultStream);
    if (trial.first_batch == 0) trial.first_batch = seconds_since(start);
    options.consumer.take();
    check(options);
    epoch_over = options.cold && batch->number() + 1 >= loader.batches();
  } while (Clock::now() - start < duration && !epoch_over);
  batch->synchronize();
  const std::chrono::nanoseconds took = Clock::now() - start;
  trial.seconds = std::chrono::duration<double>(took).count();
  trial.stats = loader.stats();
  // No next() follows the last step, so the loader does not see its end.
  trial.stats.step_time = std::max(trial.stats.step_time, took - std::min(took, trial.stats.data_wait));
  trial.stats.wall = std::max(trial.stats.wall, took);
  if (!options.trace.empty()) trial.trace = loader.end_trace();
  if (!epoch_over || Clock::now() - start >= duration) return;
  trial.stats.notes += std::string(trial.stats.notes.empty() ? "" : "; ") +
                       "the cold window ended with its epoch, because its bytes are then in the page cache";
}

}  // namespace

Trial run_trial(const Dataset& dataset, const Task& task, const Setting& setting, const TrialOptions& options,
                std::chrono::nanoseconds duration) {
  Trial trial = prepare(dataset, options);
  const auto made = Clock::now();
  {
    Loader loader = loader_for(dataset, loader_options(task, setting, options), options);
    const std::uint64_t before = batches_before(loader, setting, options);
    for (std::uint64_t i = 0; i < before; ++i) {
      const Batch batch = next_of(loader);
      if (i == 0) batch.synchronize();
      if (i == 0) trial.first_batch = seconds_since(made);
      options.consumer.take();
      check(options);
    }
    if (options.cold && options.loader.cache.kind != CacheKind::none)
      drop_pages(dataset);  // the epoch that filled the cache read the pages
    if (before != 0) loader.reset_stats();
    if (!options.trace.empty()) loader.trace(options.trace);
    measure(loader, options, duration, before != 0 ? Clock::now() : made, trial);
    trial.peak_memory_bytes = peak_memory_bytes();
  }
  // The plain loop copies as many bytes at a time as a batch.
  if (const std::uint64_t batches = trial.stats.batches;
      options.loader.device_options.opened != nullptr && trial.stats.copied_bytes > 0) {
    const std::uint64_t of_batch =
        std::max<std::uint64_t>(1, trial.stats.copied_bytes / std::max<std::uint64_t>(1, batches));
    trial.plain_copies = copy_rate(options.loader.device_options.opened, of_batch,
                                   std::min<std::chrono::nanoseconds>(duration, kCopyLoop));
  }
  return trial;
}

Trial run_consumer_alone(const Setting& setting, const TrialOptions& options, std::chrono::nanoseconds duration) {
  Trial trial;
  const auto start = Clock::now();
  do {
    options.consumer.take();
    trial.stats.samples += setting.batch_size;
    ++trial.stats.batches;
    check(options);
    trial.stats.step_time = Clock::now() - start;
  } while (trial.stats.step_time < duration);
  trial.seconds = std::chrono::duration<double>(trial.stats.step_time).count();
  trial.stats.engine_reason = "mock loader: only the consumer";
  return trial;
}

Trial run_epoch(const Dataset& dataset, const Task& task, const Setting& setting, const TrialOptions& options) {
  Trial trial = prepare(dataset, options);
  const auto start = Clock::now();
  Loader loader = loader_for(dataset, loader_options(task, setting, options), options);
  Hash64 hash;
  while (const auto batch = loader.next()) {
    if (trial.first_batch == 0) trial.first_batch = seconds_since(start);
    add_batch(hash, *batch, options.loader.device_options.opened.get());
    options.consumer.take();
    check(options);
  }
  trial.seconds = seconds_since(start);
  trial.stats = loader.stats();
  trial.digest = hash.value();
  trial.peak_memory_bytes = peak_memory_bytes();
  return trial;
}

}  // namespace penstock
