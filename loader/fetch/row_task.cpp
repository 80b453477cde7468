#include <utility>

#include <penstock/loader/fetch/row_task.hpp>

namespace penstock {

void PendingRead::done(std::uint64_t tag, std::exception_ptr failure) {
  auto& read = *reinterpret_cast<PendingRead*>(tag);
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
  // acq_rel: whoever takes the task must see what every read wrote.
  if (outstanding.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  for (std::uint32_t row = first; row < first + count; ++row) builder->set_state(row, BatchBuilder::RowState::queued);
  tasks->push(*this);
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
