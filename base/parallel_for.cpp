#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <new>

#include <base/arena_pool.hpp>
#include <base/caught.hpp>
#include <base/cores.hpp>
#include <base/parallel_for.hpp>
#include <base/shared_loop.hpp>
#include <base/waits/interruption.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

constexpr std::chrono::milliseconds kWatchEvery{100};

}  // namespace

void parallel_for(std::uint64_t count, unsigned workers, const SharedLoop::Body& body,
                  const std::function<bool()>& watch) {
  if (count == 0) return;
  if (workers == 0) workers = usable_cores();
  workers = static_cast<unsigned>(std::min<std::uint64_t>(workers, count));
  const SharedLoop::Body until_stopped = [&body](unsigned worker, std::uint64_t item, const std::stop_token& stop) {
    const Interruptible waits([&stop] { return stop.stop_requested(); });
    body(worker, item, stop);
  };
  SharedLoop loop(count, until_stopped);
  ArenaPool pool(workers, [&loop](unsigned worker) { loop.join(worker); });
  pool.start("parallel-");
  unsigned enqueued = 0;
  while (enqueued < workers && pool.enqueue()) ++enqueued;
  if (enqueued == 0) throw std::bad_alloc();
  bool go_on = true;
  const std::exception_ptr stopped = caught([&] {
    for (bool over = false; go_on && !over; go_on = watch() && !interruption_asked()) over = loop.wait_for(kWatchEvery);
  });
  const std::exception_ptr failure = loop.end();
  if (stopped) std::rethrow_exception(stopped);
  if (!go_on) throw Error::resource("interrupted");
  if (failure) std::rethrow_exception(failure);
}

void parallel_for(std::uint64_t count, unsigned workers, const std::function<void(std::uint64_t)>& body,
                  const std::function<bool(std::uint64_t, std::uint64_t)>& progress) {
  std::atomic<std::uint64_t> done{0};  // relaxed: a count for display
  parallel_for(
      count, workers,
      [&](unsigned, std::uint64_t item, const std::stop_token&) {
        body(item);
        done.fetch_add(1, std::memory_order_relaxed);
      },
      [&] { return !progress || progress(done.load(std::memory_order_relaxed), count); });
}

}  // namespace penstock
