// Collects what an engine answers.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <map>
#include <mutex>
#include <string>

#include <penstock/error.hpp>
#include <penstock/storage.hpp>

namespace penstock::test {

/// The OnRead of a test. Any thread may answer; the test waits.
class Answers {
 public:
  OnRead collect() {
    return [this](std::uint64_t tag, std::exception_ptr failure) {
      const std::lock_guard lock(mutex_);
      ++times_[tag];
      ++count_;
      failures_[tag] = std::move(failure);
      changed_.notify_all();
    };
  }

  /// False when fewer than `count` answers came within a minute.
  bool wait_for(std::uint64_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::minutes(1), [&] { return count_ >= count; });
  }

  std::uint64_t count() {
    const std::lock_guard lock(mutex_);
    return count_;
  }
  unsigned times(std::uint64_t tag) {
    const std::lock_guard lock(mutex_);
    return times_[tag];
  }
  /// what() of the failure, empty for a success.
  std::string failure(std::uint64_t tag) {
    const std::lock_guard lock(mutex_);
    const std::exception_ptr failure = failures_[tag];
    if (!failure) return "";
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& error) {
      return error.what();
    }
  }

 private:
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::uint64_t count_ = 0;
  std::map<std::uint64_t, unsigned> times_;
  std::map<std::uint64_t, std::exception_ptr> failures_;
};

}  // namespace penstock::test
