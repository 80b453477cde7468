// Counts the operations of an engine.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>

#include <penstock/storage.hpp>
#include <storage/read/read_engine.hpp>

namespace penstock {

/// EngineStats that several threads update. All accesses are relaxed: the counters order nothing.
class ReadCounters {
 public:
  void asked(std::span<const ReadRequest> requests) {
    std::uint64_t bytes = 0;
    for (const ReadRequest& request : requests) bytes += request.extent.length;
    add(requests_, requests.size());
    add(bytes_, bytes);
  }
  void issued(std::uint64_t bytes) {
    add(reads_, 1);
    add(read_bytes_, bytes);
  }
  void issued(std::span<const ReadRequest> requests) {
    std::uint64_t bytes = 0;
    for (const ReadRequest& request : requests) bytes += request.extent.length;
    add(reads_, requests.size());
    add(read_bytes_, bytes);
  }
  void retried() { add(retries_, 1); }
  void opened(std::chrono::nanoseconds time) {
    add(opens_, 1);
    add(opening_ns_, static_cast<std::uint64_t>(time.count()));
  }
  void busy(std::chrono::nanoseconds time) { add(busy_ns_, static_cast<std::uint64_t>(time.count())); }

  EngineStats total() const {
    EngineStats stats;
    stats.requests = requests_.load(std::memory_order_relaxed);
    stats.bytes = bytes_.load(std::memory_order_relaxed);
    stats.reads = reads_.load(std::memory_order_relaxed);
    stats.read_bytes = read_bytes_.load(std::memory_order_relaxed);
    stats.opens = opens_.load(std::memory_order_relaxed);
    stats.opening = std::chrono::nanoseconds(opening_ns_.load(std::memory_order_relaxed));
    stats.retries = retries_.load(std::memory_order_relaxed);
    stats.busy = std::chrono::nanoseconds(busy_ns_.load(std::memory_order_relaxed));
    return stats;
  }

 private:
  using Counter = std::atomic<std::uint64_t>;
  static void add(Counter& counter, std::uint64_t amount) { counter.fetch_add(amount, std::memory_order_relaxed); }
  Counter requests_{0}, bytes_{0}, reads_{0}, read_bytes_{0}, retries_{0}, busy_ns_{0}, opens_{0}, opening_ns_{0};
};

/// Adds the duration of its scope to a ReadCounters.
class BusyTime {
 public:
  explicit BusyTime(ReadCounters& counters) : counters_(counters), begin_(std::chrono::steady_clock::now()) {}
  ~BusyTime() { counters_.busy(std::chrono::steady_clock::now() - begin_); }
  BusyTime(BusyTime&&) = delete;

 private:
  ReadCounters& counters_;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace penstock
