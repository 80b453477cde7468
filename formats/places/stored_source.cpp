#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <list>
#include <mutex>
#include <utility>
#include <vector>

#include <base/waits/interruption.hpp>
#include <formats/io/hash.hpp>
#include <formats/places/stored_source.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kSmallest = std::uint64_t{64} << 10, kLargest = std::uint64_t{8} << 20;
constexpr std::uint64_t kWorthReading = std::uint64_t{1} << 20;  // reading such a gap is faster than another request
// From this size on, the next window is requested in advance.
constexpr std::uint64_t kAheadFrom = std::uint64_t{1} << 20;
constexpr std::uint64_t kMostHeld = 3 * kLargest;
constexpr std::size_t kMostWindows = 64;

/// The bytes of one request.
struct Window {
  Window(std::uint64_t at, std::uint64_t length) : offset(at), bytes(length) {}
  std::uint64_t end() const { return offset + bytes.size(); }

  const std::uint64_t offset;
  std::vector<std::byte> bytes;
  bool here = false;  // guarded by the source's mutex, like `failure`
  std::exception_ptr failure = nullptr;
};

class StoredSource final : public ByteSource {
 public:
  StoredSource(std::shared_ptr<const StoredObject> object, Access access)
      : ByteSource(object->address, object->info.size), object_(std::move(object)), access_(access) {}
  ~StoredSource() override {
    if (reader_ != nullptr) reader_->stop();
  }
  StoredSource(StoredSource&&) = delete;

  std::size_t read(std::uint64_t offset, std::span<std::byte> bytes) const override {
    if (offset >= size()) return 0;
    const std::size_t all = std::min<std::uint64_t>(bytes.size(), size() - offset);
    std::size_t got = 0;
    while (got < all) {
      const std::shared_ptr<Window> window = window_at(offset + got, all - got);
      const std::uint64_t skip = offset + got - window->offset;
      const std::size_t count = std::min<std::uint64_t>(all - got, window->bytes.size() - skip);
      std::memcpy(bytes.data() + got, window->bytes.data() + skip, count);
      got += count;
    }
    return all;
  }

  FileIdentity identity() const override { return identity_of(*object_); }

  void expect(std::uint64_t offset, std::uint64_t length) const override {
    const std::scoped_lock lock(mutex_);
    if (offset >= size() || length == 0 || holding(offset) != nullptr) return;
    ask(offset, std::clamp(length, kSmallest, kLargest));
  }

 private:
  // Returns the complete window that contains the byte. Waits for it.
  std::shared_ptr<Window> window_at(std::uint64_t offset, std::uint64_t wanted) const {
    std::unique_lock lock(mutex_);
    std::shared_ptr<Window> window = holding(offset);
    if (window == nullptr) {
      const std::uint64_t length = next_length(offset, wanted);
      window = ask(offset, length);
    }
    if (access_ == Access::in_order && window->end() == last_end_ && grown_ >= kAheadFrom && last_end_ < size()) {
      // A read in the last window announces a read of the next one.
      if (holding(last_end_) == nullptr) {
        grown_ = std::min(grown_ * 2, kLargest);
        ask(last_end_, grown_);
      }
    }
    wait_interruptibly(changed_, lock, [&] { return window->here; });
    if (window->failure != nullptr) {
      const std::exception_ptr failure = window->failure;
      windows_.remove(window);  // the next attempt requests it again
      lock.unlock();
      std::rethrow_exception(failure);
    }
    return window;
  }

  // Call with the mutex held, like all functions below. Null: none.
  std::shared_ptr<Window> holding(std::uint64_t offset) const {
    for (auto window = windows_.begin(); window != windows_.end(); ++window) {
      if (offset < (*window)->offset || offset >= (*window)->end()) continue;
      windows_.splice(windows_.begin(), windows_, window);
      return windows_.front();
    }
    return nullptr;
  }

  std::uint64_t next_length(std::uint64_t offset, std::uint64_t wanted) const {
    const bool follows = offset >= last_end_ && offset - last_end_ <= std::max(kWorthReading, grown_);
    grown_ = access_ == Access::in_order && follows && last_end_ != 0 ? std::min(grown_ * 4, kLargest) : kSmallest;
    return std::clamp(wanted, grown_, kLargest);
  }

  std::shared_ptr<Window> ask(std::uint64_t offset, std::uint64_t length) const {
    if (reader_ == nullptr) {
      reader_ =
          object_store().reader([this](std::uint64_t tag, std::exception_ptr failure) { answered(tag, failure); });
    }
    length = std::min(length, size() - offset);
    for (const auto& other : windows_) {  // parts that are present or requested are not requested again
      if (other->offset > offset) length = std::min(length, other->offset - offset);
    }
    auto window = std::make_shared<Window>(offset, length);
    std::list<std::shared_ptr<Window>> added{window};
    std::vector<RangeRead> reads;
    reads.push_back({.object = object_, .parts = {{offset, window->bytes}}, .tag = offset});
    // Nothing below may throw: every listed window must get an answer.
    windows_.splice(windows_.begin(), added);
    last_end_ = window->end();
    make_room();
    reader_->submit(std::move(reads));
    return window;
  }

  // Evicts the least recently used windows. Keeps the first bytes, because formats read them repeatedly.
  void make_room() const {
    std::uint64_t held = 0;
    std::size_t count = 0;
    for (auto window = windows_.begin(); window != windows_.end();) {
      held += (*window)->bytes.size();
      const bool too_much = ++count > kMostWindows || held > kMostHeld;
      if (too_much && (*window)->here && (*window)->offset != 0) {
        window = windows_.erase(window);
      } else {
        ++window;
      }
    }
  }

  void answered(std::uint64_t tag, const std::exception_ptr& failure) const noexcept {
    const std::scoped_lock lock(mutex_);
    for (const auto& window : windows_) {
      if (window->offset != tag || window->here) continue;
      window->here = true;
      window->failure = failure;
    }
    changed_.notify_all();
  }

  const std::shared_ptr<const StoredObject> object_;
  const Access access_;
  mutable std::mutex mutex_;  // guards all members below
  mutable std::condition_variable changed_;
  // Most recently used first. Windows in flight are never removed.
  mutable std::list<std::shared_ptr<Window>> windows_;
  mutable std::uint64_t last_end_ = 0, grown_ = kSmallest;  // of the most recently requested window
  mutable std::unique_ptr<RangeReader> reader_;             // destroyed first: it writes into windows
};

}  // namespace

FileIdentity identity_of(const StoredObject& object) {
  const std::uint64_t version = hash64(object.info.version);
  return {.device = hash64(object.address),
          .inode = version,
          .size = object.info.size,
          .modified = object.info.modified,
          .changed = static_cast<std::int64_t>(version >> 1)};
}

std::shared_ptr<const ByteSource> open_stored_source(std::shared_ptr<const StoredObject> object, Access access) {
  return std::make_shared<StoredSource>(std::move(object), access);
}

}  // namespace penstock
