#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <vector>

#include <penstock/base/caught.hpp>
#include <penstock/base/cores.hpp>
#include <penstock/base/error.hpp>
#include <penstock/base/parallel_for.hpp>
#include <penstock/base/thread.hpp>

namespace penstock {
namespace {

class Work {
 public:
  Work(std::uint64_t count, const std::function<void(std::uint64_t)>& body) : count_(count), body_(body) {}

  void run(std::stop_token stop) {
    for (;;) {
      const std::uint64_t number = next_.fetch_add(1, std::memory_order_relaxed);  // a ticket: it orders nothing
      if (number >= count_ || stop.stop_requested()) return;
      const std::exception_ptr failure = caught([&] { body_(number); });
      const std::lock_guard lock(mutex_);
      if (failure && !failure_) failure_ = failure;
      if (!failure) ++done_;
      changed_.notify_one();
    }
  }

  void watch(const std::function<bool(std::uint64_t, std::uint64_t)>& progress) {
    std::uint64_t reported = 0;
    std::unique_lock lock(mutex_);
    while (reported < count_) {
      changed_.wait(lock, [&] { return failure_ || done_ > reported; });
      if (failure_) std::rethrow_exception(failure_);
      reported = done_;
      lock.unlock();
      if (progress && !progress(reported, count_)) throw Error::resource("interrupted");
      lock.lock();
    }
  }

 private:
  const std::uint64_t count_;
  const std::function<void(std::uint64_t)>& body_;
  std::atomic<std::uint64_t> next_{0};
  std::mutex mutex_;  // guards done_ and failure_
  std::condition_variable changed_;
  std::uint64_t done_ = 0;
  std::exception_ptr failure_;
};

}  // namespace

void parallel_for(std::uint64_t count, unsigned workers, const std::function<void(std::uint64_t)>& body,
                  const std::function<bool(std::uint64_t, std::uint64_t)>& progress) {
  Work work(count, body);
  std::vector<Thread> threads;  // joined before `work` goes, and asked to stop when watch() throws
  const std::uint64_t wanted = workers == 0 ? usable_cores() : workers;
  start_threads(threads, "parallel-", static_cast<unsigned>(std::min(wanted, count)),
                [&](unsigned, const std::stop_token& stop) { work.run(stop); });
  work.watch(progress);
}

}  // namespace penstock
