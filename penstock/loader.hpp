// The loader: reads, decodes and transforms a dataset, and delivers batches.
//
//   namespace image = penstock::image;
//   penstock::Loader loader(penstock::open("photos"), {
//       .batch_size = 64,
//       .shuffle = true,
//       .transforms = {{"jpg", image::random_resized_crop(224) | image::normalize({0.5F, 0.5F, 0.5F}, {0.2F, 0.2F,
//       0.2F})},
//                      {"cls", penstock::label()}}});
//   for (const penstock::Batch& batch : loader)  // one epoch
//     std::cout << batch["jpg"].as<float>().size() << '\n';
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <penstock/batch.hpp>
#include <penstock/dataset.hpp>
#include <penstock/explain.hpp>
#include <penstock/gains.hpp>
#include <penstock/mixture.hpp>
#include <penstock/options.hpp>
#include <penstock/state.hpp>
#include <penstock/stats.hpp>
#include <penstock/storage.hpp>
#include <penstock/trace.hpp>

namespace penstock {

class Pipeline;

/// Reads, decodes and assembles batches ahead of its consumer. One consumer thread at a time calls next() and the rest;
/// stats() may be called from any thread.
///
///   Dataset -> Plan -> ReadEngine -> Worker (codec + transforms) -> Slab -> next()
class Loader {
 public:
  /// Throws Error: invalid_argument, for options that do not fit each other or the dataset, before any thread starts;
  /// resource, when the system gives too few threads or too little memory: no thread is left then.
  explicit Loader(Dataset dataset, LoaderOptions options = {});
  /// Of several datasets, mixed by weight. `last`, `on_error` and `missing` mean each source's samples: a bad one is
  /// replaced by one of its source, and max_error_rate is of what an epoch has of it. Throws as the above, also for
  /// `subset`, and for sampling by chance without `shuffle`.
  explicit Loader(const Mixture& mixture, LoaderOptions options = {});
  /// For tests and special storage: reads go through engines made by `make_engine`.
  using EngineFactory = penstock::EngineFactory;
  Loader(Dataset dataset, LoaderOptions options, EngineFactory make_engine);
  ~Loader();  ///< stops and joins every thread promptly; batches in the consumer's hands stay valid
  Loader(Loader&&) noexcept;

  /// The next batch of the current epoch; nothing at its end, after which the following call begins the next epoch.
  /// Throws what a worker or the reader failed with (Error, with dataset, shard, key, field and offset); Error:
  /// resource, when the consumer holds every slab it may (`held`), and, with `timeout`, when nothing came in time. The
  /// following call goes on with the next batch, while state() still names the one that failed. Only where a thread of
  /// the loader has ended (memory ran out where no batch could be blamed) does each later call throw the same.
  std::optional<Batch> next();
  /// As next(), for a consumer that must notice something else meanwhile: `while_waiting` is called every 50 ms of the
  /// wait, in this thread. What it throws leaves next(), and the loader where it is. `hand_over` is called with the
  /// batch before it counts as delivered; if it throws, so does next(), and the batch has failed.
  std::optional<Batch> next(const std::function<void()>& while_waiting,
                            const std::function<void(const Batch&)>& hand_over = {});

  std::uint64_t batches() const;        ///< per full epoch, of this rank
  std::uint64_t epoch() const;          ///< the epoch that the next batch belongs to
  void set_epoch(std::uint64_t epoch);  ///< the next batch is the first of that epoch
  /// What a `for` does first: goes on to the next epoch, unless the last one that was begun came to its end, or
  /// set_epoch() or restore() said since where to go on.
  void begin_epoch();
  /// The position of the first batch after the last delivered one. After next() has thrown, once or several times in a
  /// row, this is the batch of the first exception, so a loader that restores the state delivers it. If the consumer
  /// calls next() again, and gets a batch or the end of the epoch, it gives the failed batches up.
  LoaderState state() const;
  /// The next batch is the first that the state's loader had not delivered; the state's seed is then the loader's.
  /// Returns what a user should know of it, and the stats note: another seed than the options', other transforms; empty
  /// when there is nothing. Throws Error: invalid_argument, naming the difference, for a state of another dataset or
  /// another order of its samples; the loader then stays where it is. Another rank, world or batch size is no
  /// difference. If that batch fails again, the error says which options leave its sample out and keep the position.
  std::string restore(const LoaderState& state);
  /// Rebuilds any batch without replay and without moving the loader's position.
  Batch at(std::uint64_t epoch, std::uint64_t batch);
  /// What is behind a row of one of this loader's batches: its sample, where the bytes lie, and what was drawn for it.
  /// Throws Error: invalid_argument, when the batch has no such row; what reading the sample throws.
  RowAccount explain(const Batch& batch, std::uint32_t row) const;
  Stats stats() const;
  void reset_stats();
  /// The consumer's step ends here. From the first call on, steps end at such calls; without any, where next() is
  /// called. What the program does from here until the following next() belongs to no batch (StepTime::other).
  void mark_step();
  /// What the steps took, the last few thousand one by one. May be called from any thread.
  Steps steps() const;
  /// Records what the loader does from now on, and writes it to `file` as Chrome's JSON at end_trace(), or when the
  /// loader is destroyed, which cannot tell what goes wrong then. The file appears as a whole or not at all. It goes
  /// with a trace of PyTorch's profiler: times are those of the same clock. docs/tuning.md says what is in it. Throws
  /// Error: io, where no such file can be made; invalid_argument, while another trace is recorded.
  void trace(const std::filesystem::path& file, const TraceOptions& options = {});
  /// Throws Error: io, where the file cannot be written (the trace is over all the same); invalid_argument, without a
  /// trace.
  TraceSummary end_trace();
  /// What other options would bring, the most worth first, as a simulation of what was recorded since reset_stats()
  /// predicts; empty where nothing brings 3 % and more, or too little was recorded. Cores are taken to be as fast
  /// together as alone, so more workers bring that at most (`penstock bench --verify-predictions` measures it). Decodes
  /// some images, to try a cache of them: some tenths of a second; without images tens of milliseconds. From any
  /// thread.
  std::vector<Gain> gains() const;
  const Dataset& dataset() const;
  const LoaderOptions& options() const;  ///< with defaults resolved, and without the numbers of `draws`

  /// One `for` over a loader is one epoch. Leaving it early discards what was fetched ahead; the next `for` is the next
  /// epoch.
  class iterator {
   public:
    explicit iterator(Loader* loader);
    const Batch& operator*() const { return *batch_; }
    iterator& operator++();
    bool operator==(std::nullptr_t) const { return !batch_.has_value(); }

   private:
    Loader* loader_;
    std::optional<Batch> batch_;
  };
  iterator begin();
  std::nullptr_t end() const { return nullptr; }

 private:
  std::shared_ptr<Pipeline> pipeline_;  // shared with the threads, so that one stuck in the kernel can be left behind
};

}  // namespace penstock
