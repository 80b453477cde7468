#include <penstock/loader/block_cache.hpp>

namespace penstock {

BlockCache::Bytes BlockCache::get(std::uint32_t block, const std::function<std::vector<std::byte>()>& make) {
  std::unique_lock lock(mutex_);
  for (auto found = entries_.find(block); found != entries_.end(); found = entries_.find(block)) {
    if (found->second->bytes != nullptr) {
      recent_.splice(recent_.begin(), recent_, found->second);
      return found->second->bytes;
    }
    made_.wait(lock);
  }
  recent_.push_front({block, nullptr});
  const auto entry = recent_.begin();
  entries_[block] = entry;
  lock.unlock();

  Bytes bytes;
  try {
    bytes = std::make_shared<const std::vector<std::byte>>(make());
  } catch (...) {
    lock.lock();
    entries_.erase(block);
    recent_.erase(entry);
    made_.notify_all();
    throw;
  }
  lock.lock();
  entry->bytes = bytes;
  bytes_ += bytes->size();
  evict();
  made_.notify_all();
  return bytes;
}

void BlockCache::evict() {
  for (auto last = recent_.end(); bytes_ > capacity_ && last != recent_.begin();) {
    --last;
    if (last->bytes == nullptr) continue;
    bytes_ -= last->bytes->size();
    entries_.erase(last->block);
    last = recent_.erase(last);
  }
}

std::uint64_t BlockCache::bytes() const {
  const std::scoped_lock lock(mutex_);
  return bytes_;
}

}  // namespace penstock
