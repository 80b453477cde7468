// The rows that others ask for, one batch after the other. A scheduler builds them in this order, instead of a plan's.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <vector>

#include <order/permutation/row.hpp>
#include <order/position.hpp>

namespace penstock {

/// One batch: its rows, by their numbers in the dataset, and the position whose random draws it has.
struct NamedRows {
  Position at = {};
  std::vector<Row> rows = {};
  std::shared_ptr<const std::atomic<bool>> unwanted = {};  ///< true: the client is gone; null: false
};

/// Thread-safe.
class AskedRows {
 public:
  void push(NamedRows rows) {
    {
      const std::scoped_lock lock(mutex_);
      waiting_.push_back(std::move(rows));
    }
    changed_.notify_one();
  }
  /// Waits for the next batch. Returns nothing once stopped.
  std::optional<NamedRows> next(std::stop_token stop) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait(lock, stop, [this] { return !waiting_.empty(); })) return std::nullopt;
    NamedRows rows = std::move(waiting_.front());
    waiting_.pop_front();
    return rows;
  }

 private:
  std::mutex mutex_;  // guards waiting_
  std::condition_variable_any changed_;
  std::deque<NamedRows> waiting_;
};

}  // namespace penstock
