// Request counters that several threads read.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>

#include <formats/places/object_store.hpp>

namespace penstock {

/// Relaxed: the counters do not order anything. Also adds to the counters of all callers together.
class StoreCounters {
 public:
  explicit StoreCounters(StoreCounters* all = nullptr) : all_(all) {}

  void add_request(bool again, bool hedge) {
    add(requests_, 1);
    if (again) add(retries_, 1);
    if (hedge) add(hedges_, 1);
    if (all_ != nullptr) all_->add_request(again, hedge);
  }
  void add_connection() {
    add(connections_, 1);
    if (all_ != nullptr) all_->add_connection();
  }
  void add_bytes(std::uint64_t count) {
    add(bytes_, count);
    if (all_ != nullptr) all_->add_bytes(count);
  }
  void add_wait(std::chrono::nanoseconds waited) {
    add(waited_, static_cast<std::uint64_t>(waited.count()));
    if (all_ != nullptr) all_->add_wait(waited);
  }

  void add_answer(std::uint64_t bytes, std::chrono::nanoseconds took) {
    {
      const std::scoped_lock lock(mutex_);
      answers_.add(static_cast<double>(bytes), std::chrono::duration<double>(took).count());
    }
    if (all_ != nullptr) all_->add_answer(bytes, took);
  }

  StoreCounts counts() const {
    const std::scoped_lock lock(mutex_);
    return {.requests = requests_,
            .bytes = bytes_,
            .retries = retries_,
            .hedges = hedges_,
            .connections = connections_,
            .waited = std::chrono::nanoseconds(waited_.load()),
            .answers = answers_};
  }

 private:
  using Count = std::atomic<std::uint64_t>;
  static void add(Count& count, std::uint64_t more) { count.fetch_add(more, std::memory_order_relaxed); }

  StoreCounters* all_;
  mutable std::mutex mutex_;  // guards answers_
  AnswerSums answers_;
  Count requests_{0}, bytes_{0}, retries_{0}, hedges_{0}, connections_{0}, waited_{0};
};

}  // namespace penstock
