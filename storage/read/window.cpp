#include <algorithm>
#include <string>
#include <utility>

#include <penstock/error.hpp>
#include <storage/read/window.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kSmallest = 4096;
constexpr std::uint64_t kLargest = std::uint64_t{1} << 62;

std::size_t size_class(std::uint64_t size) {
  return static_cast<std::size_t>(std::bit_width(size) - 1);
}

}  // namespace

// Returns the size of the buffer for `bytes`: a power of two or, if that exceeds the window, whole pages.
std::uint64_t ReadWindow::rounded(std::uint64_t bytes) const {
  if (bytes > kLargest) throw Error::resource("there is no memory for " + std::to_string(bytes) + " bytes");
  const std::uint64_t size = std::bit_ceil(std::max(bytes, kSmallest));
  return size <= capacity_ ? size : rounded_up(bytes, kSmallest);
}

// Drops free buffers of other sizes before memory beyond the capacity is mapped.
void ReadWindow::drop_others(std::uint64_t size) {
  for (Kind& kind : kinds_) {
    while (reserved_ + size > capacity_ && !kind.free.empty()) {
      reserved_ -= kind.free.back().size();
      kind.free.pop_back();
      --kind.all;
    }
  }
}

std::byte* ReadWindow::take(std::uint64_t size) {
  if (!is_kept(size)) {
    drop_others(size);
    std::byte* buffer = lend(Memory(size));
    reserved_ += size;
    return buffer;
  }
  const std::size_t number = size_class(size);
  if (kinds_.size() <= number) kinds_.resize(number + 1);
  Kind& kind = kinds_[number];
  if (!kind.free.empty()) {
    std::byte* buffer = lend(std::move(kind.free.back()));
    kind.free.pop_back();
    return buffer;
  }
  drop_others(size);
  if (kind.free.capacity() <= kind.all) kind.free.reserve(2 * kind.all + 1);
  std::byte* buffer = lend(Memory(size));
  ++kind.all;
  reserved_ += size;
  return buffer;
}

// Moves `memory` only after the last operation that may throw.
std::byte* ReadWindow::lend(Memory&& memory) {
  std::byte* buffer = memory.data();
  const std::uint64_t size = memory.size();
  lent_buffers_.try_emplace(buffer).first->second = std::move(memory);
  lent_ += size;
  return buffer;
}

std::byte* ReadWindow::try_acquire(std::uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  const std::uint64_t size = rounded(bytes);
  return fits(size) ? take(size) : nullptr;
}

void ReadWindow::release(std::byte* buffer) noexcept {
  Memory unmapped;  // unmapped after the lock is released
  {
    const std::scoped_lock lock(mutex_);
    auto lent = lent_buffers_.extract(buffer);
    Memory& memory = lent.mapped();
    const std::uint64_t size = memory.size();
    lent_ -= size;
    if (is_kept(size)) {
      kinds_[size_class(size)].free.push_back(std::move(memory));
    } else {
      reserved_ -= size;
      unmapped = std::move(memory);
    }
  }
  freed_.notify_all();
}

void ReadWindow::wake() {
  { const std::scoped_lock lock(mutex_); }  // after this, a waiter has seen the change or is already waiting
  freed_.notify_all();
}

std::uint64_t ReadWindow::reserved() const {
  const std::scoped_lock lock(mutex_);
  return reserved_;
}

}  // namespace penstock
