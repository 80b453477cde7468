#include <utility>

#include <loader/fetch/block_read.hpp>
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

// The last task may be through, and this gone, before the loop ends.
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

}  // namespace penstock
