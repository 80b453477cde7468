#include <doctest/doctest.h>

#include <penstock/error.hpp>
#include <transforms/pieces.hpp>

#include "support/parallels.hpp"

namespace penstock::test::pieces_test {
namespace {

std::string failure_of(Parallel* parallel, const std::vector<bool>& fails) {
  try {
    run_pieces(parallel, static_cast<std::uint32_t>(fails.size()), [&](std::uint32_t piece) {
      if (fails[piece]) throw Error::corrupt("piece " + std::to_string(piece));
    });
  } catch (const Error& error) {
    return error.cause();
  }
  return "none";
}

}  // namespace

TEST_CASE("every piece runs once, on threads, backwards and without any") {
  ShuffledThreads threads;
  Backwards backwards;
  for (Parallel* parallel :
       {static_cast<Parallel*>(&threads), static_cast<Parallel*>(&backwards), (Parallel*)nullptr}) {
    for (const std::uint32_t pieces : {0U, 1U, 2U, 100U}) {
      std::vector<std::atomic<int>> runs(pieces);
      run_pieces(parallel, pieces, [&](std::uint32_t piece) { ++runs[piece]; });
      CHECK(std::ranges::all_of(runs, [](const auto& count) { return count == 1; }));
    }
  }
  CHECK(threads.calls == 2);
}

TEST_CASE("one piece is not shared") {
  Backwards backwards;
  run_pieces(&backwards, 1, [](std::uint32_t) {});
  CHECK(backwards.calls == 0);
}

TEST_CASE("bands cover what there is, the last one is shorter") {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> bands;
  run_bands(nullptr, 10, 4, [&](std::uint64_t begin, std::uint64_t end) { bands.emplace_back(begin, end); });
  CHECK(bands == std::vector<std::pair<std::uint64_t, std::uint64_t>>{{0, 4}, {4, 8}, {8, 10}});
}

TEST_CASE("where several pieces fail, the error is that of the first in order, whichever runs first") {
  std::mt19937 random(5);
  for (unsigned round = 0; round < 200; ++round) {
    std::vector<bool> fails(1 + random() % 30);
    for (std::size_t i = 0; i < fails.size(); ++i) fails[i] = random() % 4 == 0;
    const std::string expected = failure_of(nullptr, fails);
    ShuffledThreads threads(3, round);
    Backwards backwards;
    REQUIRE(failure_of(&threads, fails) == expected);
    REQUIRE(failure_of(&backwards, fails) == expected);
  }
}

TEST_CASE("no two pieces have the same scratch at a time, and the caller's own is the first") {
  struct Scratch {
    std::atomic<int> users{0};
    int uses = 0;
  };
  Scratch own;
  std::atomic<int> made{0}, shared{0};
  {
    PieceScratch<Scratch> scratch(own);
    ShuffledThreads threads(4);
    run_pieces(&threads, 1000, [&](std::uint32_t) {
      scratch.lend([&] { return ++made, std::make_unique<Scratch>(); },
                   [&](Scratch& mine) {
                     if (++mine.users != 1) ++shared;
                     ++mine.uses;
                     --mine.users;
                   });
    });
  }
  CHECK(shared == 0);
  CHECK(made <= 3);
  CHECK(own.uses > 0);
}

TEST_CASE("scratch of a piece that fails is lent again") {
  struct Scratch {};
  Scratch own;
  int made = 0;
  PieceScratch<Scratch> scratch(own);
  const auto make = [&] { return ++made, std::make_unique<Scratch>(); };
  for (int i = 0; i < 3; ++i) CHECK_THROWS(scratch.lend(make, [](Scratch&) { throw Error::corrupt("no"); }));
  CHECK(made == 0);
}

}  // namespace penstock::test::pieces_test
