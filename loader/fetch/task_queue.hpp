// The queue of row tasks that workers may take; it also accounts for why it is empty.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>

#include <record/time/stage_clock.hpp>

namespace penstock {

struct RowTask;

/// In order of arrival. push() neither waits nor fails: a task has its slots, and is a link of the queue itself. Where
/// a worker is idle, it calls one, which takes the oldest task, and goes on until there is none; calls come to their
/// ends in any order. Where a call is refused, a worker that is at work takes the task when it is done. Workers lack
/// room, rather than input, while the scheduler waits for a slab or for room in the read window and no reads are under
/// way: then what is wanted next has no place.
class TaskQueue {
 public:
  struct Taken {
    RowTask* task;
    Clock::time_point at;
    nanoseconds no_room;  ///< of the time that the worker was idle
  };
  /// A worker's time without a task.
  struct Idle {
    Clock::time_point since = Clock::now();
    nanoseconds without_room{};  ///< of the queue, by then
    /// Of the time until `now`, when the queue's is `without_room_now`.
    nanoseconds no_room(Clock::time_point now, nanoseconds without_room_now) const {
      return std::clamp<nanoseconds>(without_room_now - without_room, {}, now - since);
    }
  };

  /// Has a worker come, which begins with first() or leaves by pass(). False: none will.
  using Call = std::function<bool()>;
  /// Once, before the first push(). There are `workers`. `stranded` is told that nobody will come for what is in the
  /// queue.
  void call_by(unsigned workers, Call call, std::function<void()> stranded);
  /// From now on there are so many, at least one. Those above go when their task is done.
  void call_at_most(unsigned workers) noexcept;
  unsigned callable() const { return workers_.load(std::memory_order_relaxed); }  ///< any thread

  /// Sets RowTask::queued. A task that was sent() is no longer on its way.
  void push(RowTask& task, Clock::time_point now = Clock::now()) noexcept;
  void close();  ///< what is in the queue is taken no more
  std::size_t size() const;

  // From a worker that was called:
  std::optional<Taken> first(const Idle& idle);  ///< then another() until there is none
  /// The last one was done at `done`; `idle` is set where there is none.
  std::optional<Taken> another(Clock::time_point done, Idle& idle);
  void pass() noexcept;  ///< it takes none, and another is called for what is there

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
  RowTask* oldest();
  void call() noexcept;

  std::atomic<unsigned> workers_{0};  // changes with the lock held; read without it where it orders nothing
  Call call_;
  std::function<void()> stranded_;
  mutable std::mutex mutex_;  // guards all below
  RowTask *first_ = nullptr, *last_ = nullptr;
  std::size_t size_ = 0;
  std::size_t called_ = 0, working_ = 0;  // workers on their way; at tasks; none is called where they are `workers_`
  bool closed_ = false, scheduler_waits_ = false;
  std::size_t reading_ = 0;
  Stretches without_room_, reads_;
};

}  // namespace penstock
