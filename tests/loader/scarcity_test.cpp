// What the system refuses: threads, and memory, at any moment. Whatever is asked for then either succeeds or ends in
// one error, promptly, and leaves no thread and no descriptor behind.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <base/parallel_for.hpp>
#include <base/thread.hpp>
#include <penstock/pack.hpp>
#include <penstock/stage.hpp>
#include <storage/uring/uring_engine.hpp>
#include <transforms/decoders.hpp>

#include "support/loading.hpp"
#include "support/refused_memory.hpp"
#include "support/thread_count.hpp"
#include "support/working_codec.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

constexpr std::int64_t kNever = -1;
std::atomic<std::int64_t> allocations_left{kNever};  // before one fails; negative: none does
std::atomic<std::int64_t> threads_left{kNever};
thread_local std::int64_t own_allocations_left{kNever};  // of this thread, before all others fail

bool is_refused(std::atomic<std::int64_t>& left) {
  return left.load(std::memory_order_relaxed) >= 0 && left.fetch_sub(1, std::memory_order_relaxed) == 0;
}

}  // namespace

bool penstock::test::refuses_allocation() noexcept {
  if (own_allocations_left == 0) return true;
  if (own_allocations_left > 0) --own_allocations_left;
  return is_refused(allocations_left);
}

namespace {

std::ptrdiff_t descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

void refuse_thread(const std::string&) {
  if (is_refused(threads_left)) throw std::system_error(EAGAIN, std::generic_category());
}

struct Refusing {
  Refusing(std::atomic<std::int64_t>& what, std::int64_t after) : what_(what) {
    before_thread = refuse_thread;
    what_ = after;
  }
  ~Refusing() {
    what_ = kNever;
    before_thread = nullptr;
  }
  std::atomic<std::int64_t>& what_;
};

/// What `action` did: "" where it succeeded. Needs no memory itself until then.
template <typename Action>
std::string outcome(const Action& action) {
  try {
    action();
    return "";
  } catch (const Error& error) {
    return std::string(name(error.kind())) + ": " + error.cause();
  } catch (const std::bad_alloc&) {
    return "bad_alloc";
  }
}

/// Does `action` with the first, second, ... request for it refused, until nothing is refused any more; returns the
/// outcomes.
std::vector<std::string> with_each_refused(std::atomic<std::int64_t>& what, const std::function<void()>& action) {
  action();  // what libraries keep is there from now on
  const std::ptrdiff_t threads = thread_count(), files = descriptors();
  std::vector<std::string> outcomes;
  for (std::int64_t number = 0;; ++number) {
    bool refused = false;
    std::string ended;
    {
      const Refusing refusing(what, number);
      ended = outcome(action);
      refused = what < 0;
    }
    CHECK(threads_down_to(threads) <= threads);
    CHECK(descriptors() <= files);
    if (!refused) {
      CHECK(ended == "");
      return outcomes;
    }
    outcomes.push_back(ended);
  }
}

struct Setup {
  const char* name;
  std::function<LoaderOptions()> options;
};

LoaderOptions with_engine(EngineKind kind, unsigned threads = 0) {
  LoaderOptions options;
  options.batch_size = 4;
  options.workers = 3;
  options.prefetch = 1;
  options.read_options.engine = kind;
  options.read_options.threads = threads;
  return options;
}

std::vector<Setup> setups() {
  std::vector<Setup> all{
      {"inline", [] { return with_engine(EngineKind::in_worker); }},
      {"mmap", [] { return with_engine(EngineKind::mmap); }},
      {"pread", [] { return with_engine(EngineKind::pread, 3); }},
      {"batch_transform",
       [] {
         LoaderOptions options = with_engine(EngineKind::in_worker);
         options.batch_transform = [](Batch&) {};
         return options;
       }},
      {"device",
       [] {
         LoaderOptions options = with_engine(EngineKind::in_worker);
         options.device = "host";
         return options;
       }},
      {"device, batch_transform, pread",
       [] {
         LoaderOptions options = with_engine(EngineKind::pread, 2);
         options.batch_transform = [](Batch&) {};
         options.device = "host";
         return options;
       }},
      {"cache",
       [] {
         LoaderOptions options = with_engine(EngineKind::in_worker);
         options.cache.kind = CacheKind::decoded;
         options.cache.limit = 1 << 20;
         return options;
       }},
  };
  if (uring_refusal() == 0) {
    all.push_back({"io_uring", [] { return with_engine(EngineKind::io_uring, 2); }});
    all.push_back({"io_uring, O_DIRECT", [] {
                     LoaderOptions options = with_engine(EngineKind::io_uring);
                     options.read_options.direct_io = true;
                     return options;
                   }});
  }
  return all;
}

}  // namespace

TEST_CASE("a thread that the system refuses ends a loader's construction in one error that counts threads") {
  const Arrays arrays(8);
  const Dataset dataset = packed(arrays.dataset(), arrays.folder / "tar", "tar");
  for (const Setup& setup : setups()) {
    CAPTURE(std::string(setup.name));
    const auto outcomes = with_each_refused(threads_left, [&] { const Loader loader(dataset, setup.options()); });
    CHECK(outcomes.size() >= 4);  // three workers and the scheduler
    for (const std::string& ended : outcomes) {
      CAPTURE(ended);
      CHECK(ended.find("resource: cannot start the thread") == 0);
      CHECK(ended.find("Resource temporarily unavailable") != std::string::npos);
    }
  }
  const Refusing refusing(threads_left, 2);
  CHECK(outcome([&] { const Loader loader(dataset, with_engine(EngineKind::in_worker)); }) ==
        "resource: cannot start the thread penstock-w2: Resource temporarily unavailable (2 of 3 such threads had been "
        "started)");
}

TEST_CASE("memory that runs out at any moment of a loader's construction ends it in one error") {
  const Arrays arrays(8);
  const Dataset dataset = packed(arrays.dataset(), arrays.folder / "tar", "tar");
  for (const Setup& setup : setups()) {
    CAPTURE(std::string(setup.name));
    const auto outcomes = with_each_refused(allocations_left, [&] { const Loader loader(dataset, setup.options()); });
    MESSAGE(std::string(setup.name) << ": " << outcomes.size() << " allocations");
    CHECK(outcomes.size() >= 20);
  }
}

TEST_CASE("memory that runs out at any moment of an epoch is an error of next(), and the rest of the epoch is right") {
  const Arrays arrays(24);
  const Dataset dataset = packed(arrays.dataset(), arrays.folder / "tar", "tar");
  for (const Setup& setup : setups()) {
    CAPTURE(std::string(setup.name));
    unsigned failed = 0, good = 0;
    const auto epoch = [&](std::int64_t refuse_after) {
      Loader loader(dataset, setup.options());
      const Refusing refusing(allocations_left, refuse_after);
      for (int calls = 0; calls < 12; ++calls) {
        const std::string ended = outcome([&] {
          const auto batch = loader.next();
          if (!batch) {
            calls = 12;
            return;
          }
          ++good;
          batch->synchronize();
          const std::int64_t left = allocations_left.exchange(kNever);  // the checks need memory, too
          for (std::uint32_t row = 0; row < batch->size(); ++row) {
            CHECK((*batch)["npy"].as<float>()[row * 3] == static_cast<float>(batch->samples()[row]));
            CHECK((*batch)["cls"].as<std::int64_t>()[row] == static_cast<std::int64_t>(batch->samples()[row] % 10));
          }
          allocations_left = left;
        });
        if (!ended.empty()) ++failed;
      }
    };
    epoch(kNever);
    CHECK(failed == 0);
    CHECK(good == 6);
    const std::ptrdiff_t threads = thread_count(), files = descriptors();
    for (std::int64_t number = 0; number < 400; number += 1 + number / 50) epoch(number);
    CHECK(failed > 0);
    CHECK(threads_down_to(threads) <= threads);
    CHECK(descriptors() <= files);
  }
}

TEST_CASE("memory that does not come back during next() is its error, and the loader continues once it is there") {
  const Arrays arrays(8);
  const Dataset dataset = packed(arrays.dataset(), arrays.folder / "tar", "tar");
  unsigned failed = 0;
  for (std::int64_t number = 0; number < 60; ++number) {
    CAPTURE(number);
    Loader loader(dataset, with_engine(EngineKind::in_worker));
    own_allocations_left = number;
    try {
      loader.next();
    } catch (const std::exception&) {
      ++failed;
    }
    own_allocations_left = kNever;
    const auto batch = loader.next();
    REQUIRE(batch.has_value());
    CHECK((*batch)["cls"].as<std::int64_t>()[0] == static_cast<std::int64_t>(batch->samples()[0] % 10));
  }
  CHECK(failed > 0);
}

TEST_CASE("memory that runs out at any moment of at() is its error, and never a batch without rows") {
  const Arrays arrays(8);
  const Dataset dataset = packed(arrays.dataset(), arrays.folder / "tar", "tar");
  for (const Setup& setup : setups()) {
    CAPTURE(std::string(setup.name));
    Loader loader(dataset, setup.options());
    while (loader.next()) {  // all files are open from now on
    }
    const auto outcomes = with_each_refused(allocations_left, [&] {
      const Batch batch = loader.at(0, 1);
      const std::int64_t left = allocations_left.exchange(kNever);  // the checks need memory, too
      REQUIRE(batch.slab() != nullptr);
      batch.synchronize();
      CHECK(batch.samples()[3] == 7);
      CHECK(batch["npy"].as<float>()[9] == 7);
      allocations_left = left;
    });
    CHECK(outcomes.size() >= 10);
  }
}

TEST_CASE("memory that runs out while a row is shared ends the sharing: no piece runs behind it") {
  const TemporaryFolder folder;
  write_bytes(folder / "data", 2);
  const Dataset dataset = open(folder / "data");
  unsigned ended_early = 0;
  for (std::int64_t refuse_after = 0; refuse_after < 40; ++refuse_after) {
    std::atomic<bool> shares{true}, over{false};
    std::atomic<int> late{0};
    const std::function<void(std::uint32_t)> piece = [&](std::uint32_t) {
      if (over) ++late;
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    };
    {
      Loader loader(dataset, working(4, 2, [&](std::byte, Parallel* parallel) {
                      if (!shares.exchange(false)) return;
                      allocations_left = refuse_after;
                      const std::string ended = outcome([&] { parallel->run(60, piece); });
                      allocations_left = kNever;
                      over = true;
                      if (!ended.empty()) ++ended_early;
                    }));
      outcome([&] { loader.next(); });  // another row may have been refused memory
      REQUIRE(!shares);
    }
    CHECK(late == 0);
  }
  CHECK(ended_early > 0);
}

TEST_CASE("scratch memory that could not grow is there again when less is asked for") {
  ScratchMemory scratch;
  REQUIRE(scratch.get(100) != nullptr);
  {
    const Refusing refusing(allocations_left, 0);
    CHECK_THROWS_AS(scratch.get(200), std::bad_alloc);
  }
  CHECK(scratch.get(50) != nullptr);
}

TEST_CASE("a batch that is let go needs no memory, whichever way it came") {
  const Arrays arrays(8);
  const Dataset dataset = packed(arrays.dataset(), arrays.folder / "tar", "tar");
  for (const Setup& setup : setups()) {
    CAPTURE(std::string(setup.name));
    Loader loader(dataset, setup.options());
    std::optional<Batch> next = loader.next();
    std::optional<Batch> at = loader.at(0, 0);
    next->synchronize();
    at->synchronize();
    const Refusing refusing(allocations_left, 0);
    at.reset();  // these destructors may not throw
    next.reset();
  }
}

TEST_CASE("converting, writing and staging end in one error where a thread is refused") {
  const Arrays arrays(8);
  const Dataset dataset = arrays.dataset();
  int round = 0;
  const auto next_place = [&](const char* name) { return arrays.folder / (name + std::to_string(round++)); };
  const auto convert_all = [&] {
    ConvertOptions options;
    options.workers = 2;
    convert(dataset, next_place("converted"), options);
  };
  const auto write_all = [&] {
    WriterOptions options;
    options.pack.workers = 2;
    Writer writer(next_place("written"), options);
    const std::byte value{1};
    const std::vector<WriterValue> values{{.field = "x", .bytes = {&value, 1}}};
    writer.add("a", values);
    writer.finish();
  };
  const auto stage_all = [&] {
    stage(packed(dataset, next_place("packed"), "tar"), next_place("staged"),
          {.workers = 2, .engine = EngineKind::pread}, {});
  };
  for (const auto& action : std::vector<std::function<void()>>{convert_all, write_all, stage_all}) {
    for (const std::string& ended : with_each_refused(threads_left, action)) {
      CAPTURE(ended);
      CHECK(ended.find("resource: cannot start the thread") == 0);
    }
  }
}

TEST_CASE("parallel loops, whose threads are refused, end at once and do not wait for those that never were") {
  for (std::int64_t after : {0, 1, 3}) {
    const Refusing refusing(threads_left, after);
    const std::string ended = outcome([] {
      parallel_for(
          1000, 4, [](unsigned, std::uint64_t, const std::stop_token&) {}, [] { return true; });
    });
    CHECK(ended == "resource: cannot start the thread parallel-" + std::to_string(after) +
                       ": Resource temporarily unavailable (" + std::to_string(after) +
                       " of 4 such threads had been started)");
  }
  const Refusing refusing(threads_left, 1);
  CHECK(outcome([] { parallel_for(1000, 2, [](std::uint64_t) {}); }).find("resource: cannot start the thread") == 0);
}

TEST_CASE("what a thread's body throws goes to who wants it, and otherwise ends the thread alone") {
  std::string told;
  {
    Thread thread(
        "throws", [](const std::stop_token&) { throw 7; },
        [&](const std::exception_ptr& failure) {
          try {
            std::rethrow_exception(failure);
          } catch (int number) {
            told = std::to_string(number);
          }
          throw std::bad_alloc();  // what comes of telling changes nothing either
        });
    thread.join();
  }
  CHECK(told == "7");
  Thread alone("throws", [](const std::stop_token&) { throw std::bad_alloc(); });
  CHECK(alone.join_for(std::chrono::minutes(1)));
  Thread ended("exits", [](const std::stop_token&) { pthread_exit(nullptr); });
  CHECK(ended.join_for(std::chrono::minutes(1)));
}
