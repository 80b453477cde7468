// Tests storage that does not answer: what ends the wait for it.
#include <chrono>
#include <memory>
#include <stdexcept>

#include <doctest/doctest.h>

#include "support/loading.hpp"
#include "support/stuck_engine.hpp"

namespace penstock::test::stuck_reads_test {

TEST_CASE("what a consumer does while it waits may end the wait, and the loader stays where it is") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 40);
  const auto latch = std::make_shared<Latch>();
  LoaderOptions options;
  options.batch_size = 8;
  options.workers = 2;
  Loader loader(open(folder / "data"), options, [&](const Dataset&, const EngineOptions&, OnRead) {
    return ChosenEngine{std::make_unique<StuckEngine>(true, latch), "stuck"};
  });
  const LoaderState before = loader.state();
  int calls = 0;
  const auto give_up = [&] {
    if (++calls == 3) throw std::runtime_error("enough");
  };
  CHECK_THROWS_WITH_AS(loader.next(give_up), "enough", std::runtime_error);
  CHECK(calls == 3);
  CHECK(loader.state() == before);
  CHECK(loader.stats().data_wait >= std::chrono::milliseconds(150));
  latch->open();
}

TEST_CASE("storage that never answers: next() raises after the timeout with a dump, and the destructor returns") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 40);
  const Dataset dataset = open(folder / "data");
  for (const bool synchronous : {false, true}) {
    CAPTURE(synchronous);
    const auto latch = std::make_shared<Latch>();
    LoaderOptions options;
    options.batch_size = 8;
    options.workers = 2;
    options.timeout = std::chrono::milliseconds(100);
    const auto begin = std::chrono::steady_clock::now();
    {
      Loader loader(dataset, options, [&](const Dataset&, const EngineOptions& engine, OnRead) {
        return ChosenEngine{std::make_unique<StuckEngine>(synchronous || engine.kind == EngineKind::in_worker, latch),
                            "stuck"};
      });
      for (int tries = 0; tries < 2; ++tries) {
        try {
          loader.next();
          FAIL("nothing was thrown");
        } catch (const Error& error) {
          CHECK(error.kind() == ErrorKind::resource);
          CHECK(error.cause().find("100 ms") != std::string::npos);
          CHECK(error.cause().find(number_key(0)) != std::string::npos);
          CHECK(error.cause().find(synchronous ? "decoding" : "reading") != std::string::npos);
        }
      }
    }
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(30));
    latch->open();
  }
}

}  // namespace penstock::test::stuck_reads_test
