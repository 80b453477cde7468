#include <utility>

#include <penstock/loader/fetch/group.hpp>

namespace penstock {

void PendingRead::done(std::uint64_t tag, std::exception_ptr failure) {
  auto& read = *reinterpret_cast<PendingRead*>(tag);
  if (read.block != nullptr) return read.block->arrived(std::move(failure));
  if (read.group == nullptr) {
    read.failure = std::move(failure);
    return;
  }
  if (failure != nullptr) {
    const std::scoped_lock lock(read.group->mutex);
    std::exception_ptr& first = read.group->failures[read.row];
    if (first == nullptr) first = std::move(failure);
  }
  read.group->arrived();
}

void Group::arrived() {
  // acq_rel: whoever takes the group must see what every read wrote.
  if (outstanding.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  for (std::uint32_t row = first; row < first + count; ++row) assembly->set_stage(row, Assembly::RowStage::queued);
  tasks->push(*this);
}

std::optional<std::span<const std::byte>> Group::stored(std::uint32_t block) const {
  for (const std::shared_ptr<BlockRead>& read : blocks) {
    if (read->block() == block) return read->bytes();
  }
  return std::nullopt;
}

Group* GroupPool::acquire() {
  const std::scoped_lock lock(mutex_);
  if (free_.empty()) {
    if (free_.capacity() <= groups_.size()) free_.reserve(2 * groups_.size() + 1);
    groups_.push_back(std::make_unique<Group>());
    free_.push_back(groups_.back().get());
  }
  Group* group = free_.back();
  free_.pop_back();
  return group;
}

void GroupPool::release(Group* group) noexcept {
  const std::scoped_lock lock(mutex_);
  free_.push_back(group);
}

}  // namespace penstock
