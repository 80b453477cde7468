// Fills a row from a sample's number: it plans the reads, brings the bytes, decodes and transforms into the slots.
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

/// One per worker thread: owns the decoders' state and the scratch memory. Throws Error with shard, key and field.
class RowFiller {
 public:
  /// `direct` must be synchronous; it serves whatever was not read ahead. `log`: is told when a read is under way;
  /// `reads`: how long it took. `parallel`: threads that may help with a large row; null: there are none. All must
  /// outlive the filler.
  RowFiller(const FetchFrom& from, ReadEngine& direct, BlockCache& blocks, SampleCache& cache, std::uint64_t max_items,
            WorkLog* log = nullptr, ReadRecord* reads = nullptr, Parallel* parallel = nullptr);

  /// Reads the sample here and now, then fills. I/O errors of disks are tried three times.
  void read_and_fill(const SampleContext& sample, RowSlots& slots);
  /// Of row `index` of a task, which could not be read ahead. Throws why, where a store was asked until its deadline:
  /// to ask it again would take another one.
  void require_another_try(const SampleContext& sample, const RowTask& task, std::uint32_t index) const;
  /// Fills row `index` of a task from what was read ahead.
  void fill_ahead(const SampleContext& sample, const RowTask& task, std::uint32_t index, RowSlots& slots);

  // Of a cell, whose sample fills several places: its bytes are brought once.
  /// As read_and_fill() and fill_ahead(), but nothing is filled.
  void bring(const SampleContext& sample, RowSlots& slots);
  void bring_ahead(const SampleContext& sample, const RowTask& task, std::uint32_t index);
  /// Fills the outputs of one window, 0 for those of none, from what was brought last. Throws as the others.
  void fill_place(const SampleContext& sample, std::uint32_t window, RowSlots& slots);
  /// The same for another place of the window; what is not drawn is copied from the first.
  void fill_again(const SampleContext& sample, std::uint32_t window, const RowSlots& first, RowSlots& slots);

  nanoseconds read_time() const { return read_time_; }
  FillTimes fill_times() const {
    FillTimes times = filler_.times();
    times.decode += keeper_.decode_time();
    return times;
  }
  /// By output, without what was kept of samples.
  std::span<const FillTimes> output_times() const { return filler_.output_times(); }
  std::uint64_t asked_bytes() const { return asked_ + specials_.asked_bytes(); }  ///< that this one read itself, so far
  std::uint64_t stored_bytes() const { return stored_; }                          ///< of the values of the last row
  std::uint64_t hits() const { return hits_; }                                    ///< values that the cache had, so far
  std::uint64_t misses() const { return misses_; }                                ///< and those that it had not

 private:
  template <typename Work>
  void name_sample(const SampleContext& sample, Work work) const;
  void plan_and_read(const SampleContext& sample, RowSlots& slots);
  bool reads_store(const Fetch& fetch) const;
  // `buffer` holds the bytes that `fetch` planned.
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
  const Fetch* brought_ = nullptr;  // of the last cell, and its bytes
  std::byte* bytes_brought_ = nullptr;
  std::vector<ReadRequest> requests_;
  std::vector<PendingRead> pending_;
  std::vector<ReadSum> sums_;  // by read of the fetch read last
  std::vector<std::byte> cut_scratch_;
  nanoseconds read_time_{};
  std::uint64_t hits_ = 0, misses_ = 0, asked_ = 0, stored_ = 0;
};

}  // namespace penstock
