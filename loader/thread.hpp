// A named thread that its owner joins.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>

namespace penstock {

/// A time that several waits share.
class Deadline {
 public:
  explicit Deadline(std::chrono::milliseconds grace) : at_(std::chrono::steady_clock::now() + grace) {}
  std::chrono::milliseconds left() const {
    const auto left = at_ - std::chrono::steady_clock::now();
    return std::max(std::chrono::duration_cast<std::chrono::milliseconds>(left), std::chrono::milliseconds(0));
  }

 private:
  std::chrono::steady_clock::time_point at_;
};

/// Runs `body` with a token that asks it to stop. Move-only; joined when destroyed, replaced or moved onto.
///
/// There is one exception to joining: a thread inside a system call that storage never answers cannot be ended by
/// anyone. join_for() leaves such a thread behind after a grace time. Whatever it may still touch must then outlive it:
/// `body` holds shared ownership of all of its state, and owners that call join_for() say what stays in memory.
class Thread {
 public:
  Thread() = default;
  Thread(const std::string& name, std::function<void(std::stop_token)> body);  ///< `name`: the system shows 15 bytes
  ~Thread();
  Thread(Thread&&) noexcept = default;
  Thread& operator=(Thread&& other) noexcept;

  void request_stop();
  void join();                                     ///< asks to stop, then waits for the end
  bool join_for(std::chrono::milliseconds grace);  ///< as join(), but false, and left behind, when that takes longer
  bool joinable() const { return thread_.joinable(); }

 private:
  struct End;
  std::stop_source stop_{std::nostopstate};
  std::shared_ptr<End> end_;  // shared with the thread, which may outlive this object
  std::thread thread_;
};

}  // namespace penstock
