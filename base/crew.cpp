#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include <penstock/base/caught.hpp>
#include <penstock/base/crew.hpp>
#include <penstock/base/error.hpp>
#include <penstock/base/thread.hpp>

namespace penstock {
namespace {

constexpr std::chrono::milliseconds kWatchEvery{100};

struct Crew {
  std::atomic<std::uint64_t> next{0};  // relaxed: a ticket orders nothing
  std::mutex mutex;                    // guards what follows
  std::condition_variable ended;
  unsigned at_work = 0;
  std::exception_ptr failure;
};

}  // namespace

void run_crew(std::uint64_t count, unsigned workers,
              const std::function<void(unsigned, std::uint64_t, const std::stop_token&)>& body,
              const std::function<bool()>& watch) {
  Crew crew;
  const auto work = [&](unsigned worker, const std::stop_token& stop) {
    std::exception_ptr failure = caught([&] {
      for (std::uint64_t item; !stop.stop_requested();) {
        item = crew.next.fetch_add(1, std::memory_order_relaxed);
        if (item >= count) break;
        body(worker, item, stop);
      }
    });
    const std::lock_guard lock(crew.mutex);
    if (failure && !crew.failure) crew.failure = std::move(failure);
    --crew.at_work;
    crew.ended.notify_one();
  };
  crew.at_work = static_cast<unsigned>(std::min<std::uint64_t>(workers, count));
  std::vector<Thread> threads;  // asked to stop, and joined, when this scope is left
  start_threads(threads, "crew-", crew.at_work, work);

  bool go_on = true;
  const std::exception_ptr watched = caught([&] {
    std::unique_lock lock(crew.mutex);
    while (crew.at_work > 0 && !crew.failure && go_on) {
      crew.ended.wait_for(lock, kWatchEvery, [&] { return crew.at_work == 0 || crew.failure; });
      lock.unlock();
      go_on = watch();
      lock.lock();
    }
  });
  for (Thread& thread : threads) thread.request_stop();
  threads.clear();
  if (watched) std::rethrow_exception(watched);
  if (crew.failure && go_on) std::rethrow_exception(crew.failure);
  if (!go_on) throw Error::resource("interrupted");
}

}  // namespace penstock
