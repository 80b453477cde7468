// Credentials that were found, and when they must be found anew.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <base/waits/interruption.hpp>
#include <penstock/error.hpp>

namespace penstock {

using WallTime = std::chrono::system_clock::time_point;

/// Credentials of some kind, and what is known of them.
template <class Secret>
struct Found {
  std::optional<Secret> secret = {};  ///< none: requests go out without
  std::optional<WallTime> expires = {};
  std::string origin = {};  ///< "the environment": for messages
};

/// Looks for credentials when they are first needed, a while before they expire, and after a store called them expired.
/// Any thread may use it.
template <class Secret>
class Renewed {
 public:
  using Search = std::function<Found<Secret>()>;

  /// `search` may wait, and throws Error where credentials that were asked for cannot be had.
  explicit Renewed(Search search) : search_(std::move(search)) {}

  /// Whether renew() must come before now().
  bool stale() const {
    const std::lock_guard lock(mutex_);
    return stale_at(std::chrono::system_clock::now());
  }

  /// Waits for credentials. Where they cannot be had while earlier ones are still good, those stay. Throws what the
  /// search throws.
  void renew() {
    std::shared_ptr<const Found<Secret>> before;
    {
      std::unique_lock lock(mutex_);
      // The others wait for what the first one finds.
      wait_interruptibly(searched_, lock, [this] { return !searching_; });
      if (!stale_at(std::chrono::system_clock::now())) return;
      before = found_;
      searching_ = true;
    }
    const SearchEnds ends(*this);
    try {
      auto found = std::make_shared<const Found<Secret>>(search_());
      const std::lock_guard lock(mutex_);
      const auto now = std::chrono::system_clock::now();
      if (found_ && found_->secret != found->secret) replaced_ = std::chrono::steady_clock::now();
      found_ = std::move(found);
      doubted_ = false;
      next_search_ = next_search(now);
    } catch (const Error&) {
      const std::lock_guard lock(mutex_);
      const auto now = std::chrono::system_clock::now();
      if (doubted_ || !before || !before->expires || *before->expires <= now) throw;
      next_search_ = now + (*before->expires - now) / 4;
    }
  }

  /// What was found last; null before renew().
  std::shared_ptr<const Found<Secret>> now() const {
    const std::lock_guard lock(mutex_);
    return found_;
  }

  /// A store calls what a request was sent with expired or unknown: it is looked for anew. Not where it was replaced a
  /// moment ago: many requests that were under way then are refused one after another.
  void doubt() {
    constexpr std::chrono::milliseconds kMoment{500};
    const std::lock_guard lock(mutex_);
    if (!replaced_ || std::chrono::steady_clock::now() - *replaced_ > kMoment) doubted_ = true;
  }

 private:
  // Lets the others look again.
  class SearchEnds {
   public:
    explicit SearchEnds(Renewed& of) : of_(of) {}
    SearchEnds(SearchEnds&&) = delete;
    ~SearchEnds() {
      {
        const std::lock_guard lock(of_.mutex_);
        of_.searching_ = false;
      }
      of_.searched_.notify_all();  // most of them find it done
    }

   private:
    Renewed& of_;
  };

  bool stale_at(WallTime now) const { return !found_ || doubted_ || (next_search_ && now >= *next_search_); }

  // A fifth of the time that is left before the end, five minutes at most, in which credentials are still good and new
  // ones can be had. Never at once: a service may give what has expired, and the store is then asked with that.
  std::optional<WallTime> next_search(WallTime now) const {
    constexpr std::chrono::milliseconds kSoonest{500};
    if (!found_->expires) return std::nullopt;
    const auto left = *found_->expires - now;
    const WallTime wanted = *found_->expires - std::min<WallTime::duration>(left / 5, std::chrono::minutes(5));
    return std::max<WallTime>(wanted, now + kSoonest);
  }

  Search search_;
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable searched_;
  bool searching_ = false;  // not a mutex that is waited for by the clock: a sanitizer for threads knows none
  std::shared_ptr<const Found<Secret>> found_;
  std::optional<WallTime> next_search_;
  std::optional<std::chrono::steady_clock::time_point> replaced_;  // when others were found than before
  bool doubted_ = false;
};

}  // namespace penstock
