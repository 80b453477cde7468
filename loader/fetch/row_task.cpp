#include <utility>

#include <loader/fetch/row_task.hpp>

namespace penstock {

BlockRead::BlockRead(std::uint32_t block, const Extent& extent, ReadWindow& window, std::byte* buffer)
    : block_(block),
      extent_(extent),
      window_(window),
      buffer_(buffer),
      pending_(std::make_unique<PendingRead>(PendingRead{.block = this})) {}

BlockRead::~BlockRead() {
  window_.release(buffer_);
}

ReadRequest BlockRead::request() {
  return {extent_, buffer_, PendingRead::tag(*pending_)};
}

bool BlockRead::join(RowTask& task) {
  const std::scoped_lock lock(mutex_);
  if (!there_) waiting_.push_back(&task);
  return !there_;
}

// Takes the list out first: the last task may finish and destroy this object before the loop ends.
void BlockRead::arrived(std::exception_ptr failure) {
  std::vector<RowTask*> waiting;
  {
    const std::scoped_lock lock(mutex_);
    there_ = true;
    failed_ = failure != nullptr;
    waiting.swap(waiting_);
  }
  for (RowTask* task : waiting) task->arrived();
}

std::optional<std::span<const std::byte>> BlockRead::bytes() const {
  const std::scoped_lock lock(mutex_);
  if (failed_) return std::nullopt;
  return std::span<const std::byte>(buffer_, extent_.length);
}

std::shared_ptr<BlockRead> BlockReads::find(std::uint32_t block) const {
  const auto found = reads_.find(block);
  return found == reads_.end() ? nullptr : found->second.lock();
}

void BlockReads::add(const std::shared_ptr<BlockRead>& read) {
  if (reads_.size() >= prune_at_) {
    std::erase_if(reads_, [](const auto& entry) { return entry.second.expired(); });
    prune_at_ = 2 * reads_.size() + 1024;
  }
  reads_[read->block()] = read;
}

void PendingRead::done(std::uint64_t tag, std::exception_ptr failure) {
  PendingRead& read = of(tag);
  if (read.record != nullptr) read.record->end(read.span, Clock::now(), true);
  if (read.block != nullptr) return read.block->arrived(std::move(failure));
  if (read.task == nullptr) {
    read.failure = std::move(failure);
    return;
  }
  if (failure != nullptr) {
    const std::scoped_lock lock(read.task->mutex);
    std::exception_ptr& first = read.task->failures[read.row];
    if (first == nullptr) first = std::move(failure);
  }
  read.task->arrived();
}

void RowTask::arrived() {
  // acq_rel: the worker that takes the task must see the bytes of every read.
  if (outstanding.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  for (std::uint32_t row = first; row < first + count; ++row) builder->set_state(row, BatchBuilder::RowState::queued);
  const Clock::time_point now = Clock::now();
  if (trace != nullptr && trace->on()) trace->add(traced(TraceSpan::Kind::reading, sent, now));
  tasks->push(*this, now);
}

TraceSpan RowTask::traced(TraceSpan::Kind kind, Clock::time_point from, Clock::time_point to) const {
  const Journey journey = builder->journey_of(sent, queued);
  TraceSpan span{.kind = kind,
                 .begin = from,
                 .took = to - from,
                 .batch = journey.batch,
                 .epoch = journey.epoch,
                 .number = journey.number,
                 .first = first,
                 .rows = count,
                 .sent = sent};
  for (const PendingRead& read : reads) span.bytes += read.span.bytes;
  return span;
}

std::optional<std::span<const std::byte>> RowTask::stored(std::uint32_t block) const {
  for (const std::shared_ptr<BlockRead>& read : blocks) {
    if (read->block() == block) return read->bytes();
  }
  return std::nullopt;
}

RowTask* RowTaskPool::acquire() {
  const std::scoped_lock lock(mutex_);
  if (free_.empty()) {
    if (free_.capacity() <= tasks_.size()) free_.reserve(2 * tasks_.size() + 1);
    tasks_.push_back(std::make_unique<RowTask>());
    free_.push_back(tasks_.back().get());
  }
  RowTask* task = free_.back();
  free_.pop_back();
  return task;
}

void RowTaskPool::release(RowTask* task) noexcept {
  const std::scoped_lock lock(mutex_);
  free_.push_back(task);
}

}  // namespace penstock
