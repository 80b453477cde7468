#include <loader/fetch/block_cache.hpp>

namespace penstock {
namespace {

constexpr std::size_t kMostSpare = 4;  // about one evicted block per worker is reused soon

}  // namespace

BlockCache::Spares::Spares() {
  buffers.reserve(kMostSpare);  // returning a buffer then never allocates
}

BlockCache::Bytes BlockCache::get(std::uint32_t block, const std::function<void(std::vector<std::byte>&)>& make) {
  std::unique_lock lock(mutex_);
  for (auto found = entries_.find(block); found != entries_.end(); found = entries_.find(block)) {
    if (found->second->bytes != nullptr) {
      recent_.splice(recent_.begin(), recent_, found->second);
      return found->second->bytes;
    }
    made_.wait(lock);
  }
  const auto place = entries_.try_emplace(block).first;
  std::list<Entry> made;
  try {
    made.push_front({block, nullptr});
  } catch (...) {
    entries_.erase(place);
    throw;
  }
  const auto entry = place->second = made.begin();
  recent_.splice(recent_.begin(), made);
  lock.unlock();

  std::shared_ptr<std::vector<std::byte>> bytes;
  try {
    bytes = buffer();
    make(*bytes);
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
  ++made_count_;
  evict();
  made_.notify_all();
  return bytes;
}

bool BlockCache::holds(std::uint32_t block) {
  const std::scoped_lock lock(mutex_);
  const auto found = entries_.find(block);
  if (found == entries_.end()) return false;
  recent_.splice(recent_.begin(), recent_, found->second);
  return true;
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

// The last holder's deleter moves the memory back into the spares.
std::shared_ptr<std::vector<std::byte>> BlockCache::buffer() const {
  auto made = std::make_unique<std::vector<std::byte>>();
  {
    const std::scoped_lock lock(spares_->mutex);
    if (!spares_->buffers.empty()) {
      *made = std::move(spares_->buffers.back());
      spares_->buffers.pop_back();
    }
  }
  return {made.release(), [spares = spares_](std::vector<std::byte>* last) {
            const std::unique_ptr<std::vector<std::byte>> owner(last);
            const std::scoped_lock lock(spares->mutex);
            if (spares->buffers.size() < kMostSpare) spares->buffers.push_back(std::move(*owner));
          }};
}

std::uint64_t BlockCache::made() const {
  const std::scoped_lock lock(mutex_);
  return made_count_;
}

std::uint64_t BlockCache::bytes() const {
  const std::scoped_lock lock(mutex_);
  return bytes_;
}

}  // namespace penstock
