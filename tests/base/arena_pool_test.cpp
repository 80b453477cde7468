// Threads of ours inside an arena: how many take part, what else stays out, what they cost when idle, and what fork()
// and refused memory leave behind.
#include <atomic>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <optional>
#include <random>
#include <semaphore>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/wait.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_group.h>
#include <unistd.h>

#include <base/arena_pool.hpp>
#include <base/parallel_for.hpp>
#include <penstock/error.hpp>

#include "support/host_threads.hpp"
#include "support/processes.hpp"
#include "support/resident_bytes.hpp"
#include "support/skip.hpp"
#include "support/thread_count.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

#ifdef __SANITIZE_THREAD__
constexpr bool kChildHasThreads = false;
#else
constexpr bool kChildHasThreads = true;
#endif
constexpr const char* kNoThreads =
    "under ThreadSanitizer the child of a program with threads has none; use the preset dev";

#ifdef __SANITIZE_ADDRESS__
constexpr bool kOutlivesNoMemory = false;
#else
constexpr bool kOutlivesNoMemory = true;
#endif

constexpr std::chrono::minutes kMinute{1};

/// The names of the threads in `rounds` rounds, in each of which `workers` of them have to meet.
std::set<std::string> meeting(unsigned workers, unsigned rounds = 3) {
  std::mutex mutex;
  std::set<std::string> names;
  std::barrier meet(static_cast<std::ptrdiff_t>(workers));
  parallel_for(std::uint64_t{workers} * rounds, workers, [&](std::uint64_t) {
    {
      const std::lock_guard lock(mutex);
      names.insert(thread_name());
    }
    meet.arrive_and_wait();
  });
  return names;
}

std::set<std::string> ours(unsigned workers) {
  std::set<std::string> names;
  for (unsigned worker = 0; worker < workers; ++worker) names.insert("parallel-" + std::to_string(worker));
  return names;
}

}  // namespace

TEST_CASE("as many threads of ours as asked for work at once, whatever the cores and TBB's own limit") {
  const auto all_meet = [] {
    for (unsigned workers : {1U, 2U, 3U, 8U, 40U}) CHECK(meeting(workers) == ours(workers));
  };
  all_meet();
  std::optional<tbb::global_control> one_thread(std::in_place, tbb::global_control::max_allowed_parallelism, 1);
  all_meet();
  const OneCore one_core;
  all_meet();
  one_thread.reset();
  all_meet();
}

TEST_CASE("no thread of a host program's TBB takes part, and none more is there") {
  std::atomic<bool> over{false};
  std::thread host([&] {
    while (!over) tbb::parallel_for(0, 1000, [](int) { std::this_thread::yield(); });
  });
  for (unsigned workers : {1U, 2U, 8U}) CHECK(meeting(workers, 20) == ours(workers));
  over = true;
  host.join();
  const std::ptrdiff_t threads = thread_count();
  for (unsigned workers : {1U, 2U, 8U}) {
    std::ptrdiff_t most = 0;
    std::mutex mutex;
    std::barrier meet(static_cast<std::ptrdiff_t>(workers));
    parallel_for(workers, workers, [&](std::uint64_t) {
      meet.arrive_and_wait();
      const std::lock_guard lock(mutex);
      most = std::max(most, thread_count());
    });
    CHECK(most == threads + static_cast<std::ptrdiff_t>(workers));
  }
}

TEST_CASE("what runs on TBB within a token runs on the pool's threads alone") {
  std::mutex mutex;
  std::set<std::string> names;
  std::atomic<int> items{0};
  {
    ArenaPool pool(4, [&](unsigned) {
      tbb::parallel_for(0, 100, [&](int) {
        ++items;
        const std::lock_guard lock(mutex);
        names.insert(thread_name());
      });
    });
    pool.start("nested-");
    for (int token = 0; token < 50; ++token) CHECK(pool.enqueue());
  }
  CHECK(items == 5000);
  for (const std::string& name : names) CHECK(name.starts_with("nested-"));
}

TEST_CASE("idle threads use no processor time, and TBB adds none, also where it may have no thread of its own") {
  std::thread([] {}).join();  // with the first one a sanitizer starts its own
  const auto idle = [] {
    const std::ptrdiff_t before = thread_count();
    std::counting_semaphore<> ran(0);
    ArenaPool pool(8, [&](unsigned) { ran.release(); });
    pool.start("idle-");
    for (int token = 0; token < 100; ++token) CHECK(pool.enqueue());
    for (int token = 0; token < 100; ++token) ran.acquire();
    double least = 1;
    for (int tries = 0; tries < 40 && least >= 0.02; ++tries) {  // the others' last tokens may be some way off
      const double used = processor_seconds();
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      least = std::min(least, processor_seconds() - used);
    }
    CHECK(least < 0.02);
    CHECK(thread_count() == before + 8);
  };
  idle();
  const tbb::global_control one_thread(tbb::global_control::max_allowed_parallelism, 1);
  idle();
}

TEST_CASE("idle threads use no processor time, and TBB adds none, where the machine has one core") {
  const OneCore one_core;  // of a process of its own: TBB counts the cores once
  const std::string itself = std::filesystem::read_symlink("/proc/self/exe");
  CHECK(std::system(("'" + itself + "' --test-case='*also where it may have no thread*' >/dev/null").c_str()) == 0);
}

TEST_CASE("a token that comes now and then wakes one thread of many, and the others sleep on") {
  std::counting_semaphore<> ran(0);
  ArenaPool pool(64, [&](unsigned) { ran.release(); });
  pool.start("rare-");
  const auto tokens = [&](int count) {
    for (int token = 0; token < count; ++token) {
      CHECK(pool.enqueue());
      ran.acquire();
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  };
  tokens(100);  // the first one wakes all threads
  double least = 1;
  for (int tries = 0; tries < 20 && least >= 0.1; ++tries) {
    const double before = processor_seconds();
    tokens(100);
    least = std::min(least, processor_seconds() - before);
  }
  CHECK(least < 0.1);  // 0.4 s if each token wakes all threads
}

TEST_CASE("a token that waits for nested work of TBB runs others meanwhile, and does not wait for more") {
  const auto began = std::chrono::steady_clock::now();
  std::counting_semaphore<> ended(0);
  ArenaPool pool(
      1, [](unsigned) {}, kMinute);
  pool.start("nests-");
  CHECK(pool.enqueue([&](unsigned) {
    tbb::task_group nested;
    tbb::task_handle held = nested.defer([] {});
    for (int token = 0; token < 9; ++token) CHECK(pool.enqueue([](unsigned) {}));
    CHECK(pool.enqueue([&](unsigned) { held = {}; }));
    nested.wait();
    ended.release();
  }));
  ended.acquire();
  CHECK(std::chrono::steady_clock::now() - began < kMinute);
}

TEST_CASE("bursts of tokens leave nothing behind in TBB") {
  std::counting_semaphore<> ran(0);
  ArenaPool pool(
      2, [&](unsigned) { ran.release(); }, kMinute);
  pool.start("bursts-");
  const auto bursts = [&](int count) {
    for (int burst = 0; burst < count; ++burst) {
      for (int token = 0; token < 100; ++token) CHECK(pool.enqueue());
      for (int token = 0; token < 100; ++token) ran.acquire();
    }
  };
  bursts(100);
  const std::uint64_t before = resident_bytes();
  bursts(2000);
  CHECK(resident_bytes() < before + (std::uint64_t{8} << 20));  // 50 MB if each token leaves a task
}

TEST_CASE("threads that stand by end when the pool is closed") {
  std::counting_semaphore<> ran(0);
  ArenaPool pool(
      4, [&](unsigned) { ran.release(); }, kMinute);
  pool.start("ends-");
  for (int token = 0; token < 100; ++token) CHECK(pool.enqueue());
  for (int token = 0; token < 100; ++token) ran.acquire();
  CHECK(pool.join_for(std::chrono::seconds(30)));
}

TEST_CASE("the threads do not interrupt others when they wake, unless the program chose another policy") {
  const auto policy = [] {
    std::atomic<int> found{-1};
    {
      ArenaPool pool(1, [&](unsigned) { found = ::sched_getscheduler(0) & ~SCHED_RESET_ON_FORK; });
      pool.start("policy-");
      CHECK(pool.enqueue());
    }
    return found.load();
  };
  CHECK(policy() == SCHED_BATCH);
  int chosen = -1;
  std::thread([&] {
    const sched_param none{};
    REQUIRE(::sched_setscheduler(0, SCHED_IDLE, &none) == 0);
    chosen = policy();
  }).join();
  CHECK(chosen == SCHED_IDLE);
}

TEST_CASE("a token that comes while the threads fall asleep is run") {
  for (const int stand_by : {0, 1000}) {  // asleep inside TBB, and outside
    std::counting_semaphore<> ran(0);
    ArenaPool pool(
        2, [&](unsigned) { ran.release(); }, std::chrono::milliseconds(stand_by));
    pool.start("lone-");
    std::mt19937 random(1);
    const std::uint32_t rounds = 10'000;
    for (std::uint32_t round = 0; round < rounds; ++round) {
      REQUIRE(pool.enqueue());
      REQUIRE(ran.try_acquire_for(std::chrono::minutes(1)));
      const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(random() % 300'000);
      while (std::chrono::steady_clock::now() < until) {
      }
    }
  }
}

TEST_CASE("tokens of a pool whose threads never start are dropped") {
  int ran = 0;
  {
    ArenaPool pool(2, [&](unsigned) { ++ran; });
    CHECK(pool.enqueue());
    CHECK(pool.enqueue([&](unsigned) { ++ran; }));
  }
  CHECK(ran == 0);
}

TEST_CASE("a closed pool runs the tokens that were enqueued, and takes no more") {
  for (int round = 0; round < 300; ++round) {
    std::atomic<int> ran{0};
    int enqueued = 0;
    {
      ArenaPool pool(1 + static_cast<unsigned>(round) % 4, [&](unsigned) { ++ran; });
      pool.start("closed-");
      for (; enqueued < round % 7; ++enqueued) CHECK(pool.enqueue());
      pool.close();
      CHECK(pool.join_for(std::chrono::minutes(1)));
      CHECK(!pool.enqueue());
    }
    CHECK(ran == enqueued);
  }
}

TEST_CASE("a token for which there is no memory is refused, and those before it run") {
  if (!kChildHasThreads) return skip(kNoThreads);
  if (!kOutlivesNoMemory) return skip("AddressSanitizer ends a process that gets no memory; use the preset dev");
  const auto refuse = [] {
    std::counting_semaphore<> go(0);
    std::atomic<std::uint64_t> ran{0};
    std::uint64_t enqueued = 0;
    {
      const ArenaPool::Token token = [&](unsigned) {
        if (ran.fetch_add(1) == 0) go.acquire();
      };
      ArenaPool pool(1, token);
      pool.start("refused-");
      if (!pool.enqueue()) return false;
      while (ran == 0) std::this_thread::yield();
      rlimit before{};
      getrlimit(RLIMIT_AS, &before);
      rlimit none = before;
      none.rlim_cur = 1;
      setrlimit(RLIMIT_AS, &none);
      for (enqueued = 1; pool.enqueue(token); ++enqueued) {
        if (enqueued > 100'000'000) return false;
      }
      setrlimit(RLIMIT_AS, &before);
      go.release();
    }
    return ran == enqueued;
  };
  CHECK(in_child(refuse) == 0);
}

TEST_CASE("a child that was forked while tokens ran has pools of its own") {
  if (!kChildHasThreads) return skip(kNoThreads);
  std::atomic<bool> over{false};
  std::counting_semaphore<> ran(0);
  ArenaPool pool(4, [&](unsigned) { ran.release(); });
  pool.start("parent-");
  std::thread feeding([&] {
    for (int ahead = 0; ahead < 16; ++ahead) pool.enqueue();
    while (!over) {
      ran.acquire();
      pool.enqueue();
    }
  });
  for (int child = 0; child < 100; ++child) {
    CHECK(in_child([] {
            std::atomic<int> done{0};
            parallel_for(50, 3, [&](std::uint64_t) { ++done; });
            return done == 50;
          }) == 0);
  }
  over = true;
  feeding.join();
}

TEST_CASE("a token may fork") {
  if (!kChildHasThreads) return skip(kNoThreads);
  int status = -1;
  parallel_for(1, 2, [&](std::uint64_t) { status = in_child([] { return meeting(2) == ours(2); }); });
  CHECK(status == 0);
}

TEST_CASE("items begin in rising order, and the caller is told when all are done") {
  std::vector<std::uint64_t> order;
  std::uint64_t told = 0;
  parallel_for(
      1000, 1, [&](std::uint64_t item) { order.push_back(item); },
      [&](std::uint64_t done, std::uint64_t count) {
        CHECK(count == 1000);
        CHECK(done >= told);
        told = done;
        return true;
      });
  CHECK(told == 1000);
  REQUIRE(order.size() == 1000);
  CHECK(std::ranges::is_sorted(order));
  parallel_for(0, 4, [&](std::uint64_t) { order.clear(); });
  CHECK(order.size() == 1000);
}

TEST_CASE("the caller who watches ends the loop, and the first failure does") {
  std::atomic<std::uint64_t> begun{0};
  const auto until_stopped = [&](unsigned, std::uint64_t, const std::stop_token& stop) {
    ++begun;
    while (!stop.stop_requested()) std::this_thread::yield();
  };
  CHECK_THROWS_WITH_AS(parallel_for(100, 3, until_stopped, [] { return false; }), "resource: interrupted", Error);
  CHECK(begun <= 3);
  CHECK_THROWS_AS(parallel_for(100, 3, until_stopped, []() -> bool { throw 7; }), int);
  CHECK(begun <= 6);
  const auto third_fails = [&](unsigned worker, std::uint64_t item, const std::stop_token& stop) {
    if (item == 2) throw std::runtime_error("the third");
    until_stopped(worker, item, stop);
  };
  CHECK_THROWS_WITH_AS(parallel_for(100, 3, third_fails, [] { return true; }), "the third", std::runtime_error);
}
