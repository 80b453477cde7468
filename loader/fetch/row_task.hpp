// A row task: neighbouring rows of one batch that a worker takes at once, so that scheduling never dominates small
// samples.
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

/// A read of a filtered block's stored bytes, for which several row tasks may wait.
/// Shared by its tasks; the last one gives its memory back to the read window.
class BlockRead {
 public:
  /// `buffer` is lent from the window.
  BlockRead(std::uint32_t block, const Extent& extent, ReadWindow& window, std::byte* buffer);
  ~BlockRead();
  BlockRead(BlockRead&&) = delete;

  std::uint32_t block() const { return block_; }
  ReadRequest request();
  /// True where the bytes are still to come: the task's arrived() is called when they are there.
  bool join(RowTask& task);
  /// Called once, when the engine has answered.
  void arrived(std::exception_ptr failure);
  /// For the tasks, once they are whole. Nothing where the read failed.
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

/// Finds the block reads that are under way. For one thread.
class BlockReads {
 public:
  std::shared_ptr<BlockRead> find(std::uint32_t block) const;
  void add(const std::shared_ptr<BlockRead>& read);

 private:
  std::unordered_map<std::uint32_t, std::weak_ptr<BlockRead>> reads_;
  std::size_t prune_at_ = 1024;
};

struct RowTask;

/// One request's way back from the engine: ReadRequest::tag is its address.
struct PendingRead {
  RowTask* task = nullptr;     ///< null: the caller waits for it in submit() (synchronous engines), or it is a block's
  std::uint32_t row = 0;       ///< in the task
  BlockRead* block = nullptr;  ///< where it is a block's
  std::exception_ptr failure = nullptr;  ///< set by done() where there is neither
  ReadRecord* record = nullptr;          ///< is told when it ends; null: nobody is
  ReadSpan span = {};                    ///< as it began

  static std::uint64_t tag(PendingRead& read) { return reinterpret_cast<std::uint64_t>(&read); }
  static PendingRead& of(std::uint64_t tag) { return *reinterpret_cast<PendingRead*>(tag); }
  /// The engines' OnRead: hands the outcome to the task, and the task to the workers when it was the last.
  static void done(std::uint64_t tag, std::exception_ptr failure);
};

struct RowTask {
  BatchBuilder* builder = nullptr;
  std::uint32_t first = 0, count = 0;  ///< rows of the batch
  Clock::time_point sent{}, queued{};  ///< as Journey has them

  // Where an asynchronous engine reads ahead of the workers:
  bool read_ahead = false;
  std::vector<Fetch> fetches;         ///< by row of the task
  std::vector<std::uint64_t> begins;  ///< of each row's buffer in `buffer`
  std::byte* buffer = nullptr;        ///< of the read window
  std::uint64_t buffer_bytes = 0;
  std::vector<PendingRead> reads;
  std::vector<std::shared_ptr<BlockRead>> blocks;  ///< that come ahead of their rows as they are stored
  std::vector<std::exception_ptr> failures;        ///< by row of the task
  std::mutex mutex;                                ///< guards failures while reads are under way
  std::atomic<std::uint32_t> outstanding{0};
  TaskQueue* tasks = nullptr;  ///< where the task goes when nothing is outstanding
  TraceLane* trace = nullptr;  ///< is told of it then
  RowTask* behind = nullptr;   ///< the next one in that queue, which uses this

  /// One read less is outstanding; the last hands the task over.
  void arrived();
  /// What a trace says of it: its batch and rows, when it was sent, and its bytes.
  TraceSpan traced(TraceSpan::Kind kind, Clock::time_point from, Clock::time_point to) const;
  /// The stored bytes of a block that was read ahead; nothing where it was not.
  std::optional<std::span<const std::byte>> stored(std::uint32_t block) const;
};

/// Tasks go round between the scheduler and the workers; the pool grows to what is in flight and stays there.
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
