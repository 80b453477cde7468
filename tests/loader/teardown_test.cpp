// Tests that destroying a loader at any moment ends every thread and gives every slab back.
#include <random>
#include <thread>

#include <doctest/doctest.h>

#include "support/loading.hpp"
#include "support/thread_count.hpp"

namespace penstock::test::teardown_test {

TEST_CASE("a loader destroyed at random moments, two thousand times, leaves no thread behind") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 64);
  const Dataset dataset = packed(open(folder / "data"), folder / "tar", "tar");
  { const Loader warm(dataset, {.workers = 3}); }  // whatever threads libraries keep are there from now on
  const std::ptrdiff_t before = thread_count();
  const unsigned seed = 20;
  MESSAGE("seed " << seed);
  std::mt19937 random(seed);
  const EngineKind engines[] = {EngineKind::in_worker, EngineKind::pread, EngineKind::io_uring};
  for (int round = 0; round < 2000; ++round) {
    LoaderOptions options;
    options.batch_size = static_cast<std::uint32_t>(1 + random() % 16);
    options.workers = static_cast<unsigned>(1 + random() % 3);
    options.prefetch = static_cast<unsigned>(1 + random() % 4);
    options.shuffle = true;
    options.read_options.engine = engines[random() % 3];
    options.read_options.threads = 2;
    Loader loader(dataset, options);
    std::vector<Batch> kept;
    for (auto take = random() % 6; take > 0; --take) {
      if (auto batch = loader.next();
          batch && random() % 4 == 0 && kept.size() + 1 < loader.options().memory_options.reserved_batches)
        kept.push_back(*batch);
    }
    if (random() % 5 == 0) loader.set_epoch(random() % 3);
    if (random() % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
  }
  CHECK(threads_down_to(before) <= before);
}

}  // namespace penstock::test::teardown_test
