// The queue of row tasks that workers may take; it also accounts for why it is empty.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <stop_token>

#include <penstock/loader/time/stage_clock.hpp>

namespace penstock {

struct RowTask;

/// In order of arrival. push() neither waits nor fails: a task has its slots, and is a link of the queue itself.
/// Workers lack room, rather than input, while the scheduler waits for a slab or for room in the read window and no
/// reads are under way: then what is wanted next has no place.
class TaskQueue {
 public:
  struct Taken {
    RowTask* task;
    Clock::time_point at;
    nanoseconds no_room;  ///< of the time since `idle_since`
  };

  /// Sets RowTask::queued. A task that was sent() is no longer on its way.
  void push(RowTask& task, Clock::time_point now = Clock::now()) noexcept;
  /// The next task; nothing once stopped, or closed and empty. The worker has done nothing since `idle_since`.
  std::optional<Taken> pop(std::stop_token stop, Clock::time_point idle_since);
  void close();
  std::size_t size() const;

  // From the scheduler:
  void sent(std::size_t tasks, Clock::time_point now);     ///< their reads begin
  void waits_for_room(Clock::time_point now, bool waits);  ///< it begins to wait, or has what it waited for

  nanoseconds without_room(Clock::time_point now) const;  ///< sum up to `now`
  nanoseconds reading(Clock::time_point now) const;       ///< time, up to `now`, in which reads were under way

 private:
  /// A sum of stretches of time.
  class Stretches {
   public:
    void set(bool on, Clock::time_point now);
    nanoseconds until(Clock::time_point now) const;

   private:
    std::optional<Clock::time_point> since_;
    nanoseconds sum_{};
  };
  void changed(Clock::time_point now);

  mutable std::mutex mutex_;  // guards all below
  std::condition_variable_any arrived_;
  RowTask *first_ = nullptr, *last_ = nullptr;
  std::size_t size_ = 0;
  bool closed_ = false, scheduler_waits_ = false;
  std::size_t reading_ = 0;
  Stretches without_room_, reads_;
};

}  // namespace penstock
