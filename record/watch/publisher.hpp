// Keeps a loader's live page up to date from inside next(), at a cost that is bounded.
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

/// Used in the consumer's thread; any thread may ask for the note. Nothing that fails here reaches the program: there
/// is no page then, and the note says why.
class Publisher {
 public:
  static constexpr nanoseconds kApart = std::chrono::milliseconds(100);  ///< between two updates, at least
  static constexpr int kShare = 1000;  ///< and so many times as long as a core gathered the figures

  explicit Publisher(bool on) : on_(on) {}

  /// While this lives, next() runs. figures() gives those of this moment; it is called where it is time.
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

  void end() noexcept { page_.reset(); }  ///< the loader goes
  std::string note() const;               ///< why there is no page, where one was wanted

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
  static nanoseconds thread_time();  ///< that this thread was on a core: what others had meanwhile is no cost
  void open();
  void give_up(const std::exception_ptr& failure) noexcept;

  bool on_;
  Clock::time_point due_{};
  std::unique_ptr<LivePage> page_;
  mutable std::mutex mutex_;  // guards note_
  std::string note_;
};

}  // namespace penstock
