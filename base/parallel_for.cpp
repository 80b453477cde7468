#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <utility>

#include <penstock/base/arena_pool.hpp>
#include <penstock/base/caught.hpp>
#include <penstock/base/cores.hpp>
#include <penstock/base/error.hpp>
#include <penstock/base/parallel_for.hpp>

namespace penstock {
namespace {

constexpr std::chrono::milliseconds kWatchEvery{100};

using Body = std::function<void(unsigned, std::uint64_t, const std::stop_token&)>;

/// Each token does one item, and has another token enqueued for the next.
class Items {
 public:
  Items(std::uint64_t count, unsigned workers, const Body& body)
      : count_(count), body_(body), at_work_(workers), pool_(workers, [this](unsigned worker) { run(worker); }) {
    pool_.start("parallel-");
    for (unsigned begun = 0; begun < workers; ++begun) {
      if (pool_.enqueue()) continue;
      if (begun == 0) throw std::bad_alloc();
      leave(nullptr);
    }
  }
  Items(const Items&) = delete;
  Items& operator=(const Items&) = delete;
  ~Items() { stop_.request_stop(); }

  /// False when `watch` wants no more.
  bool wait(const std::function<bool()>& watch) {
    std::unique_lock lock(mutex_);
    while (at_work_ > 0 && !failure_) {
      ended_.wait_for(lock, kWatchEvery, [&] { return at_work_ == 0 || failure_; });
      lock.unlock();
      if (!watch()) return false;
      lock.lock();
    }
    return true;
  }

  /// What a body threw first, once all have ended.
  std::exception_ptr end() {
    stop_.request_stop();
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [&] { return at_work_ == 0; });
    return failure_;
  }

 private:
  void run(unsigned worker) noexcept {
    do {
      const std::uint64_t item = next_.fetch_add(1, std::memory_order_relaxed);  // a ticket: it orders nothing
      if (item >= count_ || stop_.stop_requested()) return leave(nullptr);
      if (auto failure = caught([&] { body_(worker, item, stop_.get_token()); })) return leave(std::move(failure));
    } while (!pool_.enqueue());
  }

  void leave(std::exception_ptr failure) noexcept {
    const std::lock_guard lock(mutex_);
    if (failure && !failure_) failure_ = std::move(failure);
    --at_work_;
    ended_.notify_one();
  }

  const std::uint64_t count_;
  const Body& body_;
  std::stop_source stop_;
  std::atomic<std::uint64_t> next_{0};
  std::mutex mutex_;  // guards what follows
  std::condition_variable ended_;
  unsigned at_work_;
  std::exception_ptr failure_;
  ArenaPool pool_;  // last: its threads use the others
};

}  // namespace

void parallel_for(std::uint64_t count, unsigned workers, const Body& body, const std::function<bool()>& watch) {
  if (count == 0) return;
  if (workers == 0) workers = usable_cores();
  Items items(count, static_cast<unsigned>(std::min<std::uint64_t>(workers, count)), body);
  const bool go_on = items.wait(watch);
  const std::exception_ptr failure = items.end();
  if (!go_on) throw Error::resource("interrupted");
  if (failure) std::rethrow_exception(failure);
}

void parallel_for(std::uint64_t count, unsigned workers, const std::function<void(std::uint64_t)>& body,
                  const std::function<bool(std::uint64_t, std::uint64_t)>& progress) {
  std::atomic<std::uint64_t> done{0};  // relaxed: a count for people
  parallel_for(
      count, workers,
      [&](unsigned, std::uint64_t item, const std::stop_token&) {
        body(item);
        done.fetch_add(1, std::memory_order_relaxed);
      },
      [&] { return !progress || progress(done.load(std::memory_order_relaxed), count); });
}

}  // namespace penstock
