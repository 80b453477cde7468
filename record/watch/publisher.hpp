// Updates a loader's live page from inside next(), at a bounded cost.
#pragma once

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <string>

#include <record/time/stage_clock.hpp>
#include <record/watch/live_page.hpp>

namespace penstock {

/// Used in the consumer's thread; note() is thread-safe. Failures here never reach the program: the loader then has
/// no page, and the note gives the reason.
class Publisher {
 public:
  static constexpr nanoseconds kApart = std::chrono::milliseconds(100);  ///< minimum time between two updates
  static constexpr int kShare = 1000;  ///< minimum time between two updates, as a multiple of the CPU time of the last

  explicit Publisher(bool on) : on_(on) {}

  /// Represents a running next(). The constructor calls figures() for the current statistics if an update is due.
  class Inside {
   public:
    template <typename Gather>
    Inside(Publisher& publisher, Clock::time_point now, Gather figures) : publisher_(publisher) {
      if (publisher_.on_) publisher_.enter(now, figures);
    }
    ~Inside() {
      if (publisher_.page_ != nullptr) publisher_.page_->waits_since({});
    }
    Inside(Inside&&) = delete;

   private:
    Publisher& publisher_;
  };

  void end() noexcept { page_.reset(); }  ///< ends the page with the loader
  std::string note() const;               ///< why there is no page although the option is on

 private:
  template <typename Gather>
  void enter(Clock::time_point now, Gather figures) {
    if (now >= due_) {
      try {
        if (page_ == nullptr) open();
        const nanoseconds before = thread_time();
        const Figures told = figures();
        due_ = now + std::max(kApart, kShare * (thread_time() - before));
        page_->show(told, now, due_);
      } catch (...) {
        give_up(std::current_exception());
        return;
      }
    }
    page_->waits_since(now);
  }
  static nanoseconds thread_time();  ///< time of this thread on a core: time that other threads used is not a cost
  void open();
  void give_up(const std::exception_ptr& failure) noexcept;

  bool on_;
  Clock::time_point due_{};
  std::unique_ptr<LivePage> page_;
  mutable std::mutex mutex_;  // guards failure_
  std::exception_ptr failure_;
};

}  // namespace penstock
