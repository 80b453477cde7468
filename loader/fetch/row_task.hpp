// A row task: neighbouring rows of one batch that a worker takes at once. Grouping keeps the cost of scheduling low
// for small samples.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include <formats/extent.hpp>
#include <loader/batch/batch_builder.hpp>
#include <loader/fetch/fetch.hpp>
#include <loader/fetch/task_queue.hpp>
#include <record/time/read_record.hpp>
#include <storage/read/read_engine.hpp>
#include <storage/read/window.hpp>

namespace penstock {

struct RowTask;
struct PendingRead;

/// A read of a filtered block's stored bytes. Several row tasks may wait for it. Its tasks share ownership; the last
/// one returns the memory to the read window.
class BlockRead {
 public:
  /// `buffer` comes from the window, which takes it back.
  BlockRead(std::uint32_t block, const Extent& extent, ReadWindow& window, std::byte* buffer);
  ~BlockRead();
  BlockRead(BlockRead&&) = delete;

  std::uint32_t block() const { return block_; }
  ReadRequest request();
  /// Returns true if the bytes have not arrived yet. The read then calls the task's arrived() later.
  bool join(RowTask& task);
  /// Called once, when the engine has answered.
  void arrived(std::exception_ptr failure);
  /// For tasks that are complete. Returns nothing if the read failed.
  std::optional<std::span<const std::byte>> bytes() const;

 private:
  const std::uint32_t block_;
  const Extent extent_;
  ReadWindow& window_;
  std::byte* const buffer_;
  mutable std::mutex mutex_;  // guards all below
  bool there_ = false, failed_ = false;
  std::vector<RowTask*> waiting_;
  std::unique_ptr<PendingRead> pending_;
};

/// Finds the block reads that are in flight. Not thread-safe.
class BlockReads {
 public:
  std::shared_ptr<BlockRead> find(std::uint32_t block) const;
  void add(const std::shared_ptr<BlockRead>& read);

 private:
  std::unordered_map<std::uint32_t, std::weak_ptr<BlockRead>> reads_;
  std::size_t prune_at_ = 1024;
};

struct RowTask;

/// Connects a request with its row task: ReadRequest::tag is the address of this object.
struct PendingRead {
  /// Null if the caller waits for the read in submit() (synchronous engines), or if the read belongs to a block.
  RowTask* task = nullptr;
  std::uint32_t row = 0;                 ///< in the task
  BlockRead* block = nullptr;            ///< set if the read belongs to a block
  std::exception_ptr failure = nullptr;  ///< set by done() if it has neither task nor block
  ReadRecord* record = nullptr;          ///< records the end of the read; null: none does
  ReadSpan span = {};                    ///< as it was at the start of the read

  static std::uint64_t tag(PendingRead& read) { return reinterpret_cast<std::uint64_t>(&read); }
  static PendingRead& of(std::uint64_t tag) { return *reinterpret_cast<PendingRead*>(tag); }
  /// The engines' OnRead. Passes the outcome to the task. After its last read the task goes to the workers.
  static void done(std::uint64_t tag, std::exception_ptr failure);
};

struct RowTask {
  BatchBuilder* builder = nullptr;
  std::uint32_t first = 0, count = 0;  ///< rows of the batch
  Clock::time_point sent{}, queued{};  ///< same meaning as in Journey

  // Used if an asynchronous engine reads ahead of the workers:
  bool read_ahead = false;
  std::vector<Fetch> fetches;         ///< by row of the task
  std::vector<std::uint64_t> begins;  ///< of each row's buffer in `buffer`
  std::byte* buffer = nullptr;        ///< part of the read window
  std::uint64_t buffer_bytes = 0;
  std::vector<PendingRead> reads;
  std::vector<std::shared_ptr<BlockRead>> blocks;  ///< stored bytes of blocks that arrive before their rows
  std::vector<std::exception_ptr> failures;        ///< by row of the task
  std::mutex mutex;                                ///< guards failures while reads are under way
  std::atomic<std::uint32_t> outstanding{0};
  TaskQueue* tasks = nullptr;  ///< the queue that takes the task once no read is outstanding
  TraceLane* trace = nullptr;  ///< records the task at that point
  RowTask* behind = nullptr;   ///< the next task in that queue; only the queue uses it

  /// Counts one read as finished. The last one passes the task to the queue.
  void arrived();
  /// Returns the trace entry of the task: its batch and rows, when it was sent, and its bytes.
  TraceSpan traced(TraceSpan::Kind kind, Clock::time_point from, Clock::time_point to) const;
  /// Returns the stored bytes of a block that was read ahead, or nothing if it was not.
  std::optional<std::span<const std::byte>> stored(std::uint32_t block) const;
};

/// Tasks circulate between the scheduler and the workers. The pool grows to the number in flight and never shrinks.
class RowTaskPool {
 public:
  RowTask* acquire();
  void release(RowTask* task) noexcept;

 private:
  std::mutex mutex_;  // guards both; free_ has room for all tasks
  std::vector<std::unique_ptr<RowTask>> tasks_;
  std::vector<RowTask*> free_;
};

}  // namespace penstock
