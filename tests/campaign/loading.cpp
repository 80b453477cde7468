#include "campaign/loading.hpp"

#include <array>
#include <atomic>
#include <sstream>
#include <thread>
#include <utility>

#include <penstock/error.hpp>
#include <storage/uring/uring_refusal.hpp>

#include "campaign/faults.hpp"

namespace penstock::campaign {
namespace {

// Asks for statistics from another thread, as long as it lives.
class Watcher {
 public:
  explicit Watcher(const Loader& loader)
      : thread_([this, &loader] {
          const Spared spared;
          while (!stop_.load(std::memory_order_relaxed)) {
            std::ostringstream text;
            text << loader.stats();
            std::this_thread::yield();
          }
        }) {}
  ~Watcher() {
    stop_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

std::optional<std::string> compare(const Batch& batch, const Rows* expected, std::uint64_t& delivered) {
  for (std::uint32_t row = 0; row < batch.size(); ++row) {
    if (batch.valid()[row] == 0) continue;
    ++delivered;
    if (expected == nullptr) continue;
    const std::string key(batch.keys()[row]);
    const auto found = expected->find({batch.epoch(), key});
    if (found == expected->end()) return "a row of sample " + key + " that was never written";
    if (found->second != row_hash(batch, row))
      return "sample " + key + ", epoch " + std::to_string(batch.epoch()) + ": other values than were written";
  }
  return std::nullopt;
}

}  // namespace

LoaderOptions draw_options(const Dataset& dataset, const Variant& variant, Draws& draws) {
  static constexpr std::array kEngines{EngineKind::automatic, EngineKind::in_worker, EngineKind::pread,
                                       EngineKind::mmap, EngineKind::io_uring};
  LoaderOptions options{.batch_size = static_cast<std::uint32_t>(1 + below(draws, 7)),
                        .shuffle = one_in(draws, 2),
                        .seed = kSeed,
                        .workers = static_cast<unsigned>(1 + below(draws, 3)),
                        .prefetch = static_cast<unsigned>(1 + below(draws, 3)),
                        .transforms = variant.fields};
  options.read_options.engine = kEngines.at(below(draws, uring_refusal() == 0 ? 5 : 4));
  options.read_options.direct_io = one_in(draws, 4);
  options.on_error = static_cast<OnError>(below(draws, 3));
  options.checksums = static_cast<Checksums>(below(draws, 3));
  options.max_error_rate = one_in(draws, 3) ? 0.3 : 1;
  options.cache.kind = one_in(draws, 3) ? static_cast<CacheKind>(1 + below(draws, 2)) : CacheKind::none;
  options.cache.limit = std::uint64_t{1} << (10 + below(draws, 14));
  options.read_options.read_ahead_bytes = std::uint64_t{1} << (14 + below(draws, 9));
  options.memory_options.block_cache_bytes = std::uint64_t{1} << (12 + below(draws, 12));
  options.last_batch = static_cast<Last>(below(draws, 3));
  options.timeout = std::chrono::seconds(20);
  if (one_in(draws, 4)) {
    options.world_size = 2;
    options.rank = static_cast<std::uint32_t>(below(draws, 2));
  }
  if (one_in(draws, 6)) options.device = "host";
  if (one_in(draws, 8))
    options.device_options.gpu_direct = !options.device.empty() && options.cache.kind == CacheKind::none;
  if (one_in(draws, 6) && !options.device_options.gpu_direct) options.batch_transform = [](Batch&) {};
  if (one_in(draws, 6)) options.shuffle_block = below(draws, 5);
  if (one_in(draws, 6) && dataset.size() > 3) options.subset = {{0, dataset.size() - 1, 2, 1}};
  return options;
}

std::string to_string(const LoaderOptions& options) {
  return "batches of " + std::to_string(options.batch_size) + ", " + std::string(name(options.read_options.engine)) +
         (options.read_options.direct_io ? " O_DIRECT" : "") + ", workers " + std::to_string(options.workers) +
         ", prefetch " + std::to_string(options.prefetch) + (options.shuffle ? ", shuffled" : "") + ", " +
         std::string(name(options.on_error)) + ", cache " + std::to_string(static_cast<int>(options.cache.kind)) + ":" +
         std::to_string(options.cache.limit) + ", window " + std::to_string(options.read_options.read_ahead_bytes) +
         ", blocks " + std::to_string(options.memory_options.block_cache_bytes) + ", last " +
         std::string(name(options.last_batch)) + ", checksums " + std::string(name(options.checksums)) + ", rank " +
         std::to_string(options.rank) + "/" + std::to_string(options.world_size) +
         (options.device.empty() ? "" : ", device") + (options.device_options.gpu_direct ? ", gpu_direct" : "") +
         (options.batch_transform ? ", on_batch" : "");
}

Life draw_life(Draws& draws) {
  Life life;
  if (one_in(draws, 5)) life.batches = below(draws, 5);
  life.restores = one_in(draws, 6);
  life.rebuilds = one_in(draws, 6);
  life.watched = one_in(draws, 10);
  life.tries = static_cast<unsigned>(1 + below(draws, 4));
  return life;
}

std::optional<std::string> live(Loader& loader, const Life& life, const Rows* expected, std::uint64_t& delivered) {
  std::optional<Watcher> watcher;
  if (life.watched) {
    const Spared spared;
    watcher.emplace(loader);
  }
  std::uint64_t taken = 0;
  unsigned tries = life.tries;
  for (std::uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
    loader.set_epoch(epoch);
    for (;;) {
      if (taken++ >= life.batches) return std::nullopt;
      if (life.restores && taken == 3) {
        const Spared spared;
        loader.restore(LoaderState::from_json(loader.state().to_json()));
      }
      try {
        const auto batch = loader.next();
        if (!batch) break;
        if (batch->device()) batch->synchronize();
        if (auto wrong = compare(*batch, expected, delivered)) return wrong;
      } catch (...) {
        if (--tries == 0) throw;
      }
    }
    std::uint64_t rebuilt = 0;
    if (life.rebuilds && loader.batches() > 0) {
      const Batch batch = loader.at(epoch, loader.batches() - 1);
      if (batch.device()) batch.synchronize();
      if (auto wrong = compare(batch, expected, rebuilt)) return "rebuilt: " + *wrong;
    }
  }
  return std::nullopt;
}

std::optional<std::string> compare_all(const Dataset& dataset, const Variant& variant) {
  Loader loader(dataset, {.batch_size = 5, .seed = kSeed, .workers = 1, .transforms = variant.fields});
  std::uint64_t delivered = 0;
  if (auto wrong = live(loader, {}, &variant.expected, delivered)) return wrong;
  if (delivered == variant.expected.size()) return std::nullopt;
  return std::to_string(delivered) + " rows in place of " + std::to_string(variant.expected.size());
}

}  // namespace penstock::campaign
