// Fills a row from a sample number: plans the reads, fetches the bytes, decodes and transforms into the slots.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <base/memory.hpp>
#include <loader/batch/row_slots.hpp>
#include <loader/fetch/block_cache.hpp>
#include <loader/fetch/fetch.hpp>
#include <loader/fetch/row_task.hpp>
#include <loader/fetch/sample_keeper.hpp>
#include <loader/work/special_reader.hpp>
#include <penstock/dataset.hpp>
#include <record/time/work_log.hpp>
#include <storage/read/read_engine.hpp>
#include <transforms/output.hpp>
#include <transforms/program/program.hpp>

namespace penstock {

/// Each worker thread has one. It owns the decoders' state and the scratch memory. Throws Error with shard, key and
/// field.
class RowFiller {
 public:
  /// `direct` must be synchronous; it performs reads that were not done ahead. `log` records that a read is in
  /// flight, `reads` how long it took. `parallel`: threads that may help with a large row; null: none. All must
  /// outlive the filler.
  RowFiller(const FetchFrom& from, ReadEngine& direct, BlockCache& blocks, SampleCache& cache, std::uint64_t max_items,
            WorkLog* log = nullptr, ReadRecord* reads = nullptr, Parallel* parallel = nullptr);

  /// Reads the sample in the calling thread, then fills. I/O errors of disks are tried three times.
  void read_and_fill(const SampleContext& sample, RowSlots& slots);
  /// Checks whether row `index` of a task, whose read ahead failed, may be read again. Throws the failure if a store
  /// was retried until its deadline, because another try would wait for another deadline.
  void require_another_try(const SampleContext& sample, const RowTask& task, std::uint32_t index) const;
  /// Fills row `index` of a task from the bytes that were read ahead.
  void fill_ahead(const SampleContext& sample, const RowTask& task, std::uint32_t index, RowSlots& slots);

  // For cells, whose sample fills several places: the bytes are fetched once.
  /// Fetch like read_and_fill() and fill_ahead(), but fill nothing.
  void bring(const SampleContext& sample, RowSlots& slots);
  void bring_ahead(const SampleContext& sample, const RowTask& task, std::uint32_t index);
  /// Fills the outputs of one window (0: those without a window) from the bytes fetched last. Throws like the others.
  void fill_place(const SampleContext& sample, std::uint32_t window, RowSlots& slots);
  /// Fills another place of the window. Outputs without random draws are copied from the first place.
  void fill_again(const SampleContext& sample, std::uint32_t window, const RowSlots& first, RowSlots& slots);

  nanoseconds read_time() const { return read_time_; }
  FillTimes fill_times() const {
    FillTimes times = filler_.times();
    times.decode += keeper_.decode_time();
    return times;
  }
  /// By output, without the time to keep values in the cache.
  std::span<const FillTimes> output_times() const { return filler_.output_times(); }
  /// Total bytes that this object read itself.
  std::uint64_t asked_bytes() const { return asked_ + specials_.asked_bytes(); }
  std::uint64_t stored_bytes() const { return stored_; }  ///< of the last row's values
  std::uint64_t hits() const { return hits_; }            ///< total of values found in the cache
  std::uint64_t misses() const { return misses_; }        ///< total of values missing there

 private:
  template <typename Work>
  void name_sample(const SampleContext& sample, Work work) const;
  void plan_and_read(const SampleContext& sample, RowSlots& slots);
  bool reads_store(const Fetch& fetch) const;
  // `buffer` contains the bytes that `fetch` planned.
  void fill(const SampleContext& sample, const Fetch& fetch, std::byte* buffer, RowSlots& slots, const RowTask* ahead);
  void check_in(const SampleContext& sample, const Fetch& fetch, std::byte* buffer, const RowTask* ahead);
  void fill_from(const SampleContext& sample, const Fetch& fetch, const std::byte* buffer, std::uint32_t output,
                 RowSlots& slots);
  void fill_output(std::uint32_t output, const FieldBytes& bytes, RowSlots& slots);
  void read(const Fetch& fetch, std::byte* buffer);
  void read_specials(const Fetch& fetch, std::byte* buffer, const RowTask* ahead);
  void check(std::uint64_t sample, const Fetch& fetch, std::byte* buffer, bool just_read);
  void check_value(std::uint64_t sample, std::uint32_t field, std::span<std::byte> bytes, const ReadSum& sum);
  void check_ranges(std::uint64_t sample, const FieldFetch& fetch, std::byte* bytes);
  void cut(const FieldFetch& fetch, std::byte* bytes);
  void require_sum(std::uint64_t sample, std::uint32_t field, std::uint64_t begin, std::span<std::byte> bytes,
                   std::uint32_t recorded, std::uint32_t found);
  void submit(std::span<const ReadRequest> requests);

  const FetchFrom& from_;
  const Dataset& dataset_;
  const Program& program_;
  ReadEngine& direct_;
  const std::uint64_t max_items_;
  WorkLog* const log_;
  ReadRecord* const reads_;
  SpecialReader specials_;
  SlotFiller filler_;
  SampleKeeper keeper_;
  Fetch fetch_;
  Memory buffer_;
  const Fetch* brought_ = nullptr;  // of the last cell, with its bytes
  std::byte* bytes_brought_ = nullptr;
  std::vector<ReadRequest> requests_;
  std::vector<PendingRead> pending_;
  std::vector<ReadSum> sums_;  // one for each read of the fetch that was read last
  std::vector<std::byte> cut_scratch_;
  nanoseconds read_time_{};
  std::uint64_t hits_ = 0, misses_ = 0, asked_ = 0, stored_ = 0;
};

}  // namespace penstock
