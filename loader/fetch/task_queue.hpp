// The queue of row tasks for workers. It also measures why it is empty.
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

/// A first-in, first-out queue. push() neither waits nor fails, because a task has its slots and is itself a link of
/// the queue.
/// If a worker is idle, push() calls one. The called worker takes the oldest task and continues until the queue is
/// empty. Calls may end in any order. If a call is refused, a busy worker takes the task after its current one.
/// Workers lack room, rather than input, while the scheduler waits for a slab or for the read window and no reads are
/// in flight: nothing more can be started then.
class TaskQueue {
 public:
  struct Taken {
    RowTask* task;
    Clock::time_point at;
    nanoseconds no_room;  ///< part of the worker's idle time in which there was no room
  };
  /// Measures a worker's time without a task.
  struct Idle {
    Clock::time_point since = Clock::now();
    nanoseconds without_room{};  ///< the queue's sum at that time
    /// Returns the part without room up to `now`, at which the queue's sum is `without_room_now`.
    nanoseconds no_room(Clock::time_point now, nanoseconds without_room_now) const {
      return std::clamp<nanoseconds>(without_room_now - without_room, {}, now - since);
    }
  };

  /// Asks for a worker, which then calls first() or pass(). Returns false if none will come.
  using Call = std::function<bool()>;
  /// Call it once, before the first push(). `workers` is their number. `stranded` is called if no worker will take
  /// the tasks in the queue.
  void call_by(unsigned workers, Call call, std::function<void()> stranded);
  /// Sets the number of workers from now on, at least one. Surplus workers leave after their task.
  void call_at_most(unsigned workers) noexcept;
  unsigned callable() const { return workers_.load(std::memory_order_relaxed); }  ///< any thread

  /// Sets RowTask::queued. A task that was announced by sent() no longer counts as being read.
  void push(RowTask& task, Clock::time_point now = Clock::now()) noexcept;
  void close();  ///< ends the queue: its tasks are not taken any more
  std::size_t size() const;

  // For a worker that was called:
  std::optional<Taken> first(const Idle& idle);  ///< call another() afterwards until it returns nothing
  /// `done` is the end of the previous task. Sets `idle` if the queue is empty.
  std::optional<Taken> another(Clock::time_point done, Idle& idle);
  void pass() noexcept;  ///< takes no task and calls another worker for those in the queue

  // For the scheduler:
  void sent(std::size_t tasks, Clock::time_point now);     ///< the reads of these tasks begin
  void waits_for_room(Clock::time_point now, bool waits);  ///< starts or ends a wait for a slab or the window

  nanoseconds without_room(Clock::time_point now) const;  ///< sum up to `now`
  nanoseconds reading(Clock::time_point now) const;       ///< time, up to `now`, in which reads were under way

 private:
  /// A sum of time spans.
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

  std::atomic<unsigned> workers_{0};  // changes with the lock held; read without it if it orders nothing
  Call call_;
  std::function<void()> stranded_;
  mutable std::mutex mutex_;  // guards all below
  // Invariant: while tasks are queued, at least one worker is called or at work. A refused call may break this;
  // `stranded` then reports it, because the consumer would wait forever.
  RowTask *first_ = nullptr, *last_ = nullptr;
  std::size_t size_ = 0;
  // Workers on their way; workers at tasks; calls stop when their sum reaches `workers_`.
  std::size_t called_ = 0, working_ = 0;
  bool closed_ = false, scheduler_waits_ = false;
  std::size_t reading_ = 0;
  Stretches without_room_, reads_;
};

}  // namespace penstock
