// Tests states that are saved after next() has thrown: a loader that restores one delivers the batch that failed.
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <penstock/ledger.hpp>
#include <storage/read/read_engine.hpp>

#include "support/device_loading.hpp"
#include "support/faulty_engine.hpp"
#include "support/file_size_limit.hpp"

namespace penstock::test::states_after_errors_test {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kTries = 3;  // of an I/O error

LoaderOptions options_of(std::uint32_t batch_size = 8) {
  LoaderOptions options;
  options.batch_size = batch_size;
  options.shuffle = true;
  options.seed = 3;
  options.workers = 2;
  options.transforms = {{"npy", array::decode()}, {"cls", label()}};
  return options;
}

Loader::EngineFactory failing(const Faults& faults) {
  return [=](const Dataset& dataset, const EngineOptions& options, OnRead on_read) {
    const auto make = [&](OnRead answer) { return choose_engine(dataset, options, std::move(answer)).engine; };
    return ChosenEngine{std::make_unique<FaultyEngine>(make, faults, std::move(on_read)), "faulty"};
  };
}

/// Digests of batches until the end of the epoch, or until next() throws; whether it did.
bool take(Loader& loader, std::vector<std::uint64_t>& digests) {
  try {
    while (loader.next({}, [&](const Batch& batch) { digests.push_back(digest_of(batch)); })) {
    }
  } catch (...) {
    return true;
  }
  return false;
}

/// Of a loader whose next() threw behind `got`: another one takes its state, and gives the rest of the epoch.
void check_rest(const Loader& failed, Loader again, std::vector<std::uint64_t> got,
                const std::vector<std::uint64_t>& whole) {
  const LoaderState state = LoaderState::from_json(failed.state().to_json());
  CHECK(state.batch == got.size());
  CHECK(again.restore(state).empty());
  CHECK(again.state() == state);
  CHECK_FALSE(take(again, got));
  CHECK(got == whole);
}

std::vector<std::uint64_t> whole_epoch(const Dataset& dataset, const LoaderOptions& options) {
  Loader loader(dataset, options);
  std::vector<std::uint64_t> digests;
  REQUIRE_FALSE(take(loader, digests));
  return digests;
}

}  // namespace

TEST_CASE("a state after a read error continues at the batch that failed, in every kind of epoch") {
  const Arrays arrays(60);
  const Dataset dataset = arrays.dataset();
  const std::vector<std::function<void(LoaderOptions&)>> kinds{
      [](LoaderOptions& options) { options.shuffle = false; },
      [](LoaderOptions& options) { options.prefetch = 5; },
      [](LoaderOptions& options) { options.last_batch = Last::drop; },
      [](LoaderOptions& options) { options.last_batch = Last::pad; },
      [](LoaderOptions& options) { options.shuffle_block = 4; },
      [](LoaderOptions& options) { options.rank = 1, options.world_size = 3, options.batch_size = 4; },
      [](LoaderOptions& options) { options.device_options.opened = device_with(); },
      [](LoaderOptions& options) { options.batch_transform = [](Batch&) {}; },
  };
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    CAPTURE(kind);
    LoaderOptions options = options_of();
    kinds[kind](options);
    const std::vector<std::uint64_t> whole = whole_epoch(dataset, options);
    for (const std::uint64_t read : {0U, 5U, 19U, 41U}) {
      CAPTURE(read);
      std::vector<std::uint64_t> got;
      Loader loader(dataset, options, failing({.fail_file = read, .times = kTries}));
      if (take(loader, got)) {
        check_rest(loader, Loader(dataset, options), got, whole);
        std::vector<std::uint64_t> more = got;  // the loader itself, which has restored it
        loader.restore(loader.state());
        CHECK_FALSE(take(loader, more));
        CHECK(more == whole);
      } else {
        CHECK(got == whole);
      }
    }
  }
}

TEST_CASE("a state names the first of several failed batches, until next() gives a batch or the end of the epoch") {
  const Arrays arrays(40);
  LoaderOptions options = options_of(4);
  const std::set<std::uint64_t> failing{2, 3, 5, 9};
  options.batch_transform = [&](Batch& batch) {
    if (batch.epoch() == 0 && failing.contains(batch.number())) throw std::runtime_error("of the program");
  };
  Loader loader(arrays.dataset(), options);
  std::vector<std::uint64_t> batches;
  for (int call = 0; call < 11; ++call) {
    try {
      loader.next();
    } catch (const std::runtime_error&) {
    }
    batches.push_back(loader.state().batch);
  }
  CHECK(batches == std::vector<std::uint64_t>{1, 2, 2, 2, 5, 5, 7, 8, 9, 9, 0});
  CHECK(loader.state().epoch == 1);
  loader.next();
  loader.set_epoch(0);
  CHECK(loader.state().batch == 0);
  CHECK(loader.state().epoch == 0);
}

TEST_CASE("what the consumer throws while it waits, or while a batch is handed over, leaves the state at that batch") {
  const Arrays arrays(40);
  const fs::path ledger = arrays.folder / "ledger";
  LoaderOptions options = options_of(4);
  const std::vector<std::uint64_t> whole = whole_epoch(arrays.dataset(), options);
  options.delivery_log = ledger;
  std::vector<std::uint64_t> got;
  {
    Loader loader(arrays.dataset(), options);
    const auto refuse = [](const Batch&) { throw std::runtime_error("not taken"); };
    for (int batch = 0; batch < 3; ++batch)
      loader.next({}, [&](const Batch& given) { got.push_back(digest_of(given)); });
    CHECK_THROWS_AS(loader.next({}, refuse), std::runtime_error);
    CHECK_THROWS_AS(loader.next({}, refuse), std::runtime_error);
    CHECK(loader.state().batch == 3);
    options.delivery_log.clear();
    check_rest(loader, Loader(arrays.dataset(), options), got, whole);
  }
  const LedgerAudit lacking = audit_ledger(ledger);
  CHECK_FALSE(lacking.good());
  CHECK(lacking.epochs.front().delivered == 12);

  options.batch_transform = [](Batch& batch) {
    if (batch.number() == 2) std::this_thread::sleep_for(std::chrono::milliseconds(150));
  };
  options.prefetch = 1;
  Loader waits(arrays.dataset(), options);
  got.clear();
  for (int batch = 0; batch < 2; ++batch) waits.next({}, [&](const Batch& given) { got.push_back(digest_of(given)); });
  CHECK_THROWS_AS(waits.next([] { throw 7; }), int);
  check_rest(waits, Loader(arrays.dataset(), options), got, whole);
}

TEST_CASE("too many bad samples, a sum that fails, a timeout and a full ledger leave the state at their batch") {
  const Arrays arrays(40);
  const Dataset dataset = arrays.dataset();
  const auto check = [&](const std::function<void(LoaderOptions&)>& trouble, const Faults& faults = {}) {
    LoaderOptions options = options_of(1);
    options.on_error = OnError::mark;
    options.max_error_rate = 0;
    const std::vector<std::uint64_t> whole = whole_epoch(dataset, options);
    LoaderOptions troubled = options;
    trouble(troubled);
    std::vector<std::uint64_t> got;
    Loader loader(dataset, troubled, failing(faults));
    REQUIRE(take(loader, got));
    check_rest(loader, Loader(dataset, options), got, whole);
  };
  check([](LoaderOptions&) {}, {.fail_file = 9, .corrupt = true, .times = 1});
  check([](LoaderOptions& options) {
    options.all_reduce = [](std::uint64_t) -> std::uint64_t { throw std::runtime_error("no group"); };
  });
  check([](LoaderOptions& options) {
    options.prefetch = 1;
    options.timeout = std::chrono::milliseconds(50);
    options.batch_transform = [](Batch& batch) {
      if (batch.number() == 5) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    };
  });

  const Arrays many(1100);
  LoaderOptions options = options_of(1);
  options.workers = 1;
  const std::vector<std::uint64_t> whole = whole_epoch(many.dataset(), options);
  options.delivery_log = many.folder / "ledger";
  std::vector<std::uint64_t> got;
  Loader loader(many.dataset(), options);
  {
    const FileSizeLimit full(4096 + (64 << 10));
    REQUIRE(take(loader, got));
  }
  options.delivery_log.clear();
  check_rest(loader, Loader(many.dataset(), options), got, whole);
}

TEST_CASE("a copy to a device that fails leaves the state at the batch whose values never came") {
  const Arrays arrays(60);
  const LoaderOptions good = on(device_with());
  const std::vector<std::uint64_t> whole = whole_epoch(arrays.dataset(), good);
  for (const std::uint64_t failing : {0U, 7U, 15U}) {
    const LoaderOptions bad = on(device_with([failing](const HostWork& work) {
      if (work.number == failing) throw std::runtime_error("struck by lightning");
    }));
    std::vector<std::uint64_t> got;
    Loader loader(arrays.dataset(), bad);
    REQUIRE(take(loader, got));
    check_rest(loader, Loader(arrays.dataset(), good), got, whole);
  }
}

TEST_CASE("a ledger has the failed batch once, after a restore") {
  const Arrays arrays(40);
  LoaderOptions options = options_of(4);
  options.delivery_log = arrays.folder / "ledger";
  std::vector<std::uint64_t> got;
  std::optional<LoaderState> state;
  {
    Loader loader(arrays.dataset(), options, failing({.fail_file = 30, .times = kTries}));
    REQUIRE(take(loader, got));
    state = loader.state();
  }
  CHECK(audit_ledger(options.delivery_log).epochs.front().delivered == 4 * got.size());
  Loader again(arrays.dataset(), options);
  again.restore(*state);
  CHECK_FALSE(take(again, got));
  const LedgerAudit audit = audit_ledger(options.delivery_log);
  CHECK(audit.good());
  CHECK(audit.epochs.front().delivered == 40);
  CHECK(audit.epochs.front().verdict == AuditedEpoch::Verdict::proved);
}

}  // namespace penstock::test::states_after_errors_test
