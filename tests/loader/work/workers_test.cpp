// The workers: how many there are and who they are, what they cost when idle, and how they share a large row.
#include <atomic>
#include <barrier>
#include <latch>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <semaphore>
#include <set>
#include <string>
#include <thread>

#include <doctest/doctest.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_group.h>

#include "support/host_threads.hpp"
#include "support/loading.hpp"
#include "support/thread_count.hpp"
#include "support/working_codec.hpp"

namespace penstock::test::workers_test {

using namespace std::chrono_literals;

namespace {

std::set<std::string> workers_called(unsigned workers) {
  std::set<std::string> names;
  for (unsigned worker = 0; worker < workers; ++worker) names.insert("penstock-w" + std::to_string(worker));
  return names;
}

class Names {
 public:
  void add() {
    const std::lock_guard lock(mutex_);
    names_.insert(thread_name());
  }
  std::set<std::string> get() const { return names_; }

 private:
  std::mutex mutex_;
  std::set<std::string> names_;
};

unsigned rows_of(Loader& loader) {
  unsigned rows = 0;
  while (const auto batch = loader.next()) rows += static_cast<unsigned>(batch->size());
  return rows;
}

}  // namespace

TEST_CASE("as many workers as asked for take part at once, and no other thread, whatever else there is of TBB") {
  const TemporaryFolder folder;
  constexpr unsigned kMost = 40;
  write_bytes(folder / "data", kMost);
  const Dataset dataset = open(folder / "data");
  { const Loader warm(dataset, {.workers = 1}); }  // whatever threads libraries keep are there from now on
  const auto all_meet = [&](std::ptrdiff_t others = 0) {
    for (const unsigned workers : {1U, 2U, 8U, kMost}) {
      CAPTURE(workers);
      Names names;
      std::barrier meet(static_cast<std::ptrdiff_t>(workers));
      const std::ptrdiff_t before = thread_count();
      std::atomic<unsigned> begun{0};
      std::atomic<std::ptrdiff_t> most{0};
      LoaderOptions options = working(workers, 1, [&](std::byte, Parallel*) {
        names.add();
        if (begun++ < kMost) meet.arrive_and_wait();  // of the next epoch as many may begin as there is room for
        most = std::max(most.load(), thread_count() - before);
      });
      options.prefetch = kMost;  // a row is a task here
      options.read_options.engine = EngineKind::in_worker;
      Loader loader(dataset, options);
      CHECK(rows_of(loader) == kMost);
      CHECK(names.get() == workers_called(workers));
      CHECK(most <= static_cast<std::ptrdiff_t>(workers) + 1 + others);  // the scheduler's is there too
    }
  };
  all_meet();
  std::optional<tbb::global_control> one_thread(std::in_place, tbb::global_control::max_allowed_parallelism, 1);
  all_meet();
  {
    const OneCore one_core;
    all_meet();
  }
  one_thread.reset();
  std::atomic<bool> over{false};
  std::thread host([&] {
    while (!over) tbb::parallel_for(0, 100, [](int) { std::this_thread::yield(); });
  });
  all_meet(std::thread::hardware_concurrency());  // TBB may start threads for the host program meanwhile
  over = true;
  host.join();
}

TEST_CASE("workers without work use no processor time") {
  const TemporaryFolder folder;
  write_bytes(folder / "data", 40);
  LoaderOptions options = working(32, 4, [](std::byte, Parallel*) {});
  Loader loader(open(folder / "data"), options);
  REQUIRE(loader.next());
  std::this_thread::sleep_for(100ms);  // what is prefetched is ready by then
  double least = 1;
  for (int attempt = 0; attempt < 40 && least >= 0.002;
       ++attempt) {  // on a busy machine the batches ahead take a while
    const double before = processor_seconds();
    std::this_thread::sleep_for(200ms);
    least = std::min(least, processor_seconds() - before);
  }
  CHECK(least < 0.02);  // one that never rests takes 0.2
}

TEST_CASE(
    "a codec that waits for something on TBB gets the workers' threads alone, and no row is lost or done within "
    "another") {
  const TemporaryFolder folder;
  write_bytes(folder / "data", 200);
  const Dataset dataset = open(folder / "data");
  for (const unsigned workers : {1U, 2U, 5U}) {
    Names names;
    std::atomic<int> pieces{0}, nested{0};
    std::optional<Loader> loader;
    loader.emplace(dataset, working(workers, 8, [&](std::byte, Parallel*) {
                     thread_local int inside = 0;
                     if (inside++ != 0) ++nested;
                     tbb::parallel_for(0, 64, [&](int) {
                       names.add();
                       ++pieces;
                     });
                     --inside;
                   }));
    for (unsigned epoch = 0; epoch < 5; ++epoch) CHECK(rows_of(*loader) == 200);
    loader.reset();  // rows that were prefetched are over too
    CHECK(pieces >= 5 * 200 * 64);
    CHECK(pieces % 64 == 0);
    CHECK(nested == 0);
    CHECK(std::ranges::includes(workers_called(workers), names.get()));
  }
}

TEST_CASE("workers that are idle help with a large row, each once at a time") {
  const TemporaryFolder folder;
  write_bytes(folder / "data", 24);
  const Dataset dataset = open(folder / "data");
  for (const unsigned workers : {2U, 4U, 16U}) {
    CAPTURE(workers);
    Names names;
    std::vector<std::atomic<int>> done(3 * workers);
    std::barrier meet(static_cast<std::ptrdiff_t>(workers));
    std::atomic<bool> met{false};
    std::latch over(1);
    LoaderOptions options = working(workers, 8, [&](std::byte value, Parallel* parallel) {
      if (value != std::byte{13} || met.exchange(true)) return;
      REQUIRE(parallel != nullptr);
      parallel->run(3 * workers, [&](std::uint32_t piece) {
        names.add();
        meet.arrive_and_wait();
        ++done[piece];
      });
      over.count_down();
    });
    Loader loader(dataset, options);
    CHECK(rows_of(loader) == 24);
    over.wait();  // the row may have been one of the next epoch, which is prefetched
    CHECK(names.get() == workers_called(workers));
    for (const auto& times : done) CHECK(times == 1);
  }
}

TEST_CASE("a worker that waits for something on TBB within its row helps nobody meanwhile") {
  const TemporaryFolder folder;
  write_bytes(folder / "data", 2);
  thread_local bool within = false;
  tbb::task_group others;
  tbb::task_handle held = others.defer([] {});
  std::binary_semaphore waiting(0);
  std::atomic<int> done{0}, nested{0};
  std::atomic<bool> first_waits{false}, first_shares{false};  // in the first epoch
  LoaderOptions options = working(2, 2, [&](std::byte value, Parallel* parallel) {
    if (value == std::byte{0} && !first_waits.exchange(true)) {
      within = true;
      waiting.release();
      others.wait();
      within = false;
    }
    if (value == std::byte{1} && !first_shares.exchange(true)) {
      waiting.acquire();
      parallel->run(20, [&](std::uint32_t) {
        nested += within ? 1 : 0;
        ++done;
        std::this_thread::sleep_for(2ms);  // the other has time to take its token
      });
      held = {};
    }
  });
  Loader loader(open(folder / "data"), options);
  CHECK(rows_of(loader) == 2);
  CHECK(done == 20);
  CHECK(nested == 0);
}

TEST_CASE("one worker has nobody to share with") {
  const TemporaryFolder folder;
  write_bytes(folder / "data", 4);
  std::atomic<bool> shared{false};
  Loader loader(open(folder / "data"), working(1, 2, [&](std::byte, Parallel* parallel) {
                  if (parallel != nullptr) shared = true;
                }));
  CHECK(rows_of(loader) == 4);
  CHECK(!shared);
}

TEST_CASE("what fails in a piece, in whichever worker, is the row's failure, and the pieces left are not begun") {
  const TemporaryFolder folder;
  write_bytes(folder / "data", 24);
  const Dataset dataset = open(folder / "data");
  std::atomic<unsigned> begun{0};
  LoaderOptions options = working(4, 8, [&](std::byte value, Parallel* parallel) {
    if (value != std::byte{13}) return;
    parallel->run(100'000, [&](std::uint32_t) {
      ++begun;
      throw Error::corrupt("no such piece");
    });
  });
  options.on_error = OnError::mark;
  options.max_error_rate = 0.5;
  Loader loader(dataset, options);
  CHECK(rows_of(loader) == 24);
  REQUIRE(loader.stats().bad.size() == 1);
  CHECK(loader.stats().bad[0].key == number_key(13));
  CHECK(loader.stats().bad[0].cause.find("no such piece") != std::string::npos);
  CHECK(begun < 1000);  // of this epoch, and of rows prefetched of the next ones
}

TEST_CASE("help is a worker's time, of decoding") {
  const TemporaryFolder folder;
  write_bytes(folder / "data", 8);
  std::atomic<bool> shares{false};
  LoaderOptions options = working(4, 8, [&](std::byte value, Parallel* parallel) {
    if (value != std::byte{0} || !shares.exchange(false)) return;
    std::barrier meet(4);
    parallel->run(4, [&](std::uint32_t) {
      meet.arrive_and_wait();
      std::this_thread::sleep_for(30ms);
    });
  });
  Loader loader(open(folder / "data"), options);
  CHECK(rows_of(loader) == 8);  // times are counted from the first batch on
  shares = true;
  for (unsigned epoch = 0; epoch < 10; ++epoch) CHECK(rows_of(loader) == 8);  // more than are prefetched
  CHECK(!shares);
  for (const StageStats& stage : loader.stats().stages) {
    if (stage.name == "decode") CHECK(stage.busy >= 120ms);
  }
}

TEST_CASE("a loader that ends while a row is shared ends all of it") {
  const TemporaryFolder folder;
  write_bytes(folder / "data", 64);
  const Dataset dataset = open(folder / "data");
  const std::ptrdiff_t before = thread_count();
  for (unsigned round = 0; round < 300; ++round) {
    std::atomic<int> inside{0};
    {
      Loader loader(dataset, working(1 + round % 5, 4, [&](std::byte, Parallel* parallel) {
                      const auto piece = [&](std::uint32_t) {
                        ++inside;
                        std::this_thread::yield();
                        --inside;
                      };
                      if (parallel != nullptr) parallel->run(20, piece);
                    }));
      for (unsigned take = round % 4; take > 0; --take) loader.next();
    }
    REQUIRE(inside == 0);
  }
  CHECK(threads_down_to(before) <= before);
}

}  // namespace penstock::test::workers_test
