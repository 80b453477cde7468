// A queue between two stages. Items are moved. A wait ends with an item, close() or a stop.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

namespace penstock {

/// Multiple producers and consumers, first in, first out. The producers bound it: a pushed item already owns its place
/// (a slot of a batch buffer, a share of the read window), so push() never blocks.
template <typename T>
class Queue {
 public:
  /// Throws std::bad_alloc; the caller then still has the item.
  void push(T&& item) {
    {
      const std::scoped_lock lock(mutex_);
      items_.push_back(std::move(item));
    }
    arrived_.notify_one();
  }

  /// Returns the next item; nothing if stopped, or closed and empty.
  std::optional<T> pop(std::stop_token stop) {
    std::unique_lock lock(mutex_);
    if (!arrived_.wait(lock, stop, [this] { return !items_.empty() || closed_; })) return std::nullopt;
    if (items_.empty()) return std::nullopt;
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    return item;
  }

  void close() {
    {
      const std::scoped_lock lock(mutex_);
      closed_ = true;
    }
    arrived_.notify_all();
  }

  std::size_t size() const {
    const std::scoped_lock lock(mutex_);
    return items_.size();
  }

 private:
  mutable std::mutex mutex_;  // guards items_ and closed_
  std::condition_variable_any arrived_;
  std::deque<T> items_;
  bool closed_ = false;
};

}  // namespace penstock
