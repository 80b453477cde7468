// Caches credentials, and decides when to search for them again.
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

/// Credentials of one kind, and their origin.
template <class Secret>
struct Found {
  std::optional<Secret> secret = {};  ///< empty: requests are sent without credentials
  std::optional<WallTime> expires = {};
  std::string origin = {};  ///< such as "the environment"; for messages
};

/// Searches for credentials when they are first needed, shortly before they expire, and after a store reported them
/// expired. Thread-safe.
template <class Secret>
class Renewed {
 public:
  using Search = std::function<Found<Secret>()>;

  /// `search` may block. Throws Error if explicitly configured credentials are not available.
  explicit Renewed(Search search) : search_(std::move(search)) {}

  /// Returns true if renew() must be called before now().
  bool stale() const {
    const std::lock_guard lock(mutex_);
    return stale_at(std::chrono::system_clock::now());
  }

  /// Waits for credentials. If the search fails while earlier credentials are still valid, those are kept. Throws the
  /// exceptions of the search.
  void renew() {
    std::shared_ptr<const Found<Secret>> before;
    {
      std::unique_lock lock(mutex_);
      // Other threads wait for the result of the first search.
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

  /// Returns the latest result; null before renew().
  std::shared_ptr<const Found<Secret>> now() const {
    const std::lock_guard lock(mutex_);
    return found_;
  }

  /// Reports that a store rejected credentials as expired or unknown, so the next renew() searches again. Ignored if
  /// they were replaced within the last half second: requests that were in flight then are rejected one after another.
  void doubt() {
    constexpr std::chrono::milliseconds kMoment{500};
    const std::lock_guard lock(mutex_);
    if (!replaced_ || std::chrono::steady_clock::now() - *replaced_ > kMoment) doubted_ = true;
  }

 private:
  // Ends the search and lets other threads continue.
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

  // Renews within the last fifth of the remaining lifetime, and within the last five minutes: the old credentials are
  // still valid and new ones are available. Never renews at once: a service may return expired credentials, and
  // requests are then sent with those.
  std::optional<WallTime> next_search(WallTime now) const {
    constexpr std::chrono::milliseconds kSoonest{500};
    if (!found_->expires) return std::nullopt;
    const auto left = *found_->expires - now;
    const WallTime wanted = *found_->expires - std::min<WallTime::duration>(left / 5, std::chrono::minutes(5));
    return std::max<WallTime>(wanted, now + kSoonest);
  }

  Search search_;
  mutable std::mutex mutex_;  // guards the members below
  std::condition_variable searched_;
  bool searching_ = false;  // a flag instead of a timed mutex, which thread sanitizers do not support
  std::shared_ptr<const Found<Secret>> found_;
  std::optional<WallTime> next_search_;
  std::optional<std::chrono::steady_clock::time_point> replaced_;  // time of the last change of the secret
  bool doubted_ = false;
};

}  // namespace penstock
