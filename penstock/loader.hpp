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

/// Reads, decodes and assembles batches ahead of its consumer. One consumer thread at a time may call its functions.
/// Any thread may call stats(), steps() and gains(). A loader works only in the process that made it, not in the child
/// of a fork(). A loader can be moved, and the moved-from loader can only be destroyed.
///
///   Dataset -> Plan -> ReadEngine -> Worker (codec + transforms) -> Slab -> next()
class Loader {
 public:
  /// Starts the loader, which keeps a copy of the dataset. Throws Error: invalid_argument, for options that do not fit
  /// each other or the dataset, before any thread starts. Throws Error: resource, if the system provides too few
  /// threads or too little memory; no thread remains then.
  explicit Loader(Dataset dataset, LoaderOptions options = {});
  /// Loads several datasets, mixed by weight. `last_batch`, `on_error` and `missing` apply to each source: a sample of
  /// the same source replaces an invalid one, and max_error_rate is a share of the source's samples in an epoch. Throws
  /// like the first constructor, and also for `subset`, and for random sampling without `shuffle`.
  explicit Loader(const Mixture& mixture, LoaderOptions options = {});
  /// For penstock's tests and special storage: engines that `make_engine` returns do all reads.
  using EngineFactory = penstock::EngineFactory;
  Loader(Dataset dataset, LoaderOptions options, EngineFactory make_engine);
  ~Loader();  ///< stops and joins every thread promptly; batches that the consumer holds stay valid
  Loader(Loader&&) noexcept;

  /// Returns the next batch of the current epoch, or nothing at its end; the following call then begins the next epoch.
  ///
  /// Throws the Error of the worker or reader that failed, with dataset, shard, key, field and offset. Throws Error:
  /// resource, if the consumer already holds max_live_batches batches, or if no batch came within `timeout`. After an
  /// exception, the following call continues with the next batch, while state() still names the failed one. If a thread
  /// of the loader has ended, every later call throws the same error. This happens only if memory ran out outside of
  /// any batch.
  std::optional<Batch> next();
  /// Like next(), for a consumer that must watch for other events too. `while_waiting` is called in this thread, every
  /// 50 ms of the wait. If it throws, the exception leaves next(), and the loader's position does not change.
  /// `hand_over` is called with the batch before the batch counts as delivered. If it throws, next() throws the same,
  /// and the batch counts as failed.
  std::optional<Batch> next(const std::function<void()>& while_waiting,
                            const std::function<void(const Batch&)>& hand_over = {});

  std::uint64_t batches() const;        ///< of this rank in a full epoch
  std::uint64_t epoch() const;          ///< epoch of the next batch
  void set_epoch(std::uint64_t epoch);  ///< makes the first batch of that epoch the next one
  /// A `for` calls it first. Moves to the next epoch, except if the epoch begun last has come to its end, or if
  /// set_epoch() or restore() chose the position since.
  void begin_epoch();
  /// The position of the first batch after the last delivered one. After next() has thrown, once or several times in a
  /// row, the position is the batch of the first exception, so a loader that restores the state delivers it. When a
  /// later next() returns a batch or the end of the epoch, the position moves past the failed batches.
  LoaderState state() const;
  /// Resumes from a saved state: the next batch is the first that the state's loader had not delivered. The loader
  /// adopts the state's seed. Returns remarks for the user, which stats() also lists, such as a seed other than the
  /// options' or other transforms; empty if there are none.
  ///
  /// Throws Error: invalid_argument, naming the difference, for a state of another dataset or another order of its
  /// samples; the loader then keeps its position. Rank, world size and batch size may differ. If the next batch fails
  /// again, the error names the options that leave its sample out and keep the position.
  std::string restore(const LoaderState& state);
  /// Makes `consumers` loaders with this loader's dataset, options and position that share batches: each batch is built
  /// once for all of them, for example for trainings in several threads. Each has its own position, and one thread may
  /// use each. `sharing`: the name may be empty; one is made. With a delivery log, each has its own folder in it,
  /// "consumer0" and so on. Throws like the constructor; Error: unsupported, with a `sampler` of weights, which this
  /// loader does not keep: give LoaderOptions::sharing to each loader instead.
  std::vector<Loader> share(unsigned consumers, SharingOptions sharing = {}) const;
  /// Rebuilds any batch of this rank without replay, and without moving the loader's position. Reads and decodes in the
  /// calling thread.
  Batch at(std::uint64_t epoch, std::uint64_t batch);
  /// Describes the origin of a row of one of this loader's batches: its sample, the location of its bytes, and its
  /// random draws. Throws Error: invalid_argument, if the batch has no such row, and the errors of reading the sample.
  RowAccount explain(const Batch& batch, std::uint32_t row) const;
  Stats stats() const;  ///< since the start, or since reset_stats(); any thread may call it
  void reset_stats();   ///< sets counters to 0; docs/reference/stats.md lists the others
  /// Marks the end of the consumer's step. From the first call on, steps end at such calls; without any call, they end
  /// at next(). The program's time from this call until the following next() belongs to no batch (StepTime::other).
  void mark_step();
  /// The times of the steps, the last few thousand one by one. Any thread may call it.
  Steps steps() const;
  /// Records the loader's work from now on. end_trace(), or the loader's destructor, which cannot report errors, writes
  /// the record to `file` as Chrome's JSON. The file appears complete or not at all. Its times use the clock of
  /// PyTorch's profiler, so both traces can be shown together. docs/monitoring.md, "Traces", describes the content.
  /// Throws Error: io, if no such file can be made; invalid_argument, while another trace is recorded.
  void trace(const std::filesystem::path& file, const TraceOptions& options = {});
  /// Ends the trace and writes its file. Throws Error: io, if the file cannot be written (the trace ends nevertheless);
  /// invalid_argument, if no trace is recorded.
  TraceSummary end_trace();
  /// Predicts the effect of other options, the largest gain first, by simulating the record since reset_stats(). Empty
  /// if no option gains 3 % or more, with servers, or if too little was recorded. The simulation assumes that cores are
  /// as fast together as one by one, so gains from more workers are upper limits (`penstock bench --verify-predictions`
  /// measures them). The call takes tens of milliseconds. With images it decodes some, to try a cache of them, and
  /// takes some tenths of a second. Any thread may call it.
  std::vector<Gain> gains() const;
  const Dataset& dataset() const;        ///< of a mixture: the samples of all sources
  const LoaderOptions& options() const;  ///< with defaults resolved, and without the numbers of `sampler`

  /// One `for` over a loader is one epoch. Leaving the loop early discards the batches fetched ahead; the next `for` is
  /// the next epoch. The loop releases its batch before it waits for the next one.
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
  /// Starts at the position of a state, if there is one.
  Loader(Dataset dataset, LoaderOptions options, const EngineFactory& make_engine, const LoaderState* at);
  // shared with the threads, so that one that is stuck in the kernel can be abandoned
  std::shared_ptr<Pipeline> pipeline_;
};

}  // namespace penstock
