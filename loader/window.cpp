#include <algorithm>
#include <bit>
#include <utility>

#include <penstock/loader/window.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kSmallest = 4096;

std::size_t size_class(std::uint64_t size) {
  return static_cast<std::size_t>(std::bit_width(size) - 1);
}

}  // namespace

std::uint64_t ReadWindow::rounded(std::uint64_t bytes) {
  return std::bit_ceil(std::max(bytes, kSmallest));
}

// Free buffers of other sizes go before memory beyond the capacity is mapped.
void ReadWindow::drop_others(std::uint64_t size) {
  for (std::vector<Memory>& kind : free_) {
    while (reserved_ + size > capacity_ && !kind.empty()) {
      reserved_ -= kind.back().size();
      kind.pop_back();
    }
  }
}

std::byte* ReadWindow::take(std::uint64_t size) {
  const std::size_t kind = size_class(size);
  if (free_.size() <= kind) free_.resize(kind + 1);
  if (free_[kind].empty()) {
    drop_others(size);
    free_[kind].emplace_back(size);
    reserved_ += size;
  }
  Memory memory = std::move(free_[kind].back());
  free_[kind].pop_back();
  lent_ += size;
  std::byte* buffer = memory.data();
  lent_buffers_.emplace(buffer, std::move(memory));
  return buffer;
}

std::byte* ReadWindow::try_acquire(std::uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  const std::uint64_t size = rounded(bytes);
  return fits(size) ? take(size) : nullptr;
}

void ReadWindow::release(std::byte* buffer, std::uint64_t bytes) {
  {
    const std::scoped_lock lock(mutex_);
    const std::uint64_t size = rounded(bytes);
    auto lent = lent_buffers_.extract(buffer);
    free_[size_class(size)].push_back(std::move(lent.mapped()));
    lent_ -= size;
  }
  freed_.notify_all();
}

void ReadWindow::wake() {
  { const std::scoped_lock lock(mutex_); }  // a waiter has either seen the change or is waiting by now
  freed_.notify_all();
}

std::uint64_t ReadWindow::reserved() const {
  const std::scoped_lock lock(mutex_);
  return reserved_;
}

}  // namespace penstock
