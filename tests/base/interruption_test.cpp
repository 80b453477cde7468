// How waits end: of one thread, of those that work for it, and of what is tidied up behind a failure.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <thread>

#include <doctest/doctest.h>

#include <base/parallel_for.hpp>
#include <base/waits/interruption.hpp>
#include <penstock/error.hpp>

using namespace penstock;
using namespace std::chrono_literals;

TEST_CASE("an interruption is asked of the innermost, and of nobody where there is none") {
  CHECK_FALSE(interruption_asked());
  bool outer = false;
  const Interruptible waits([&] { return outer; });
  require_uninterrupted();
  {
    const Interruptible inner([] { return true; });
    CHECK_THROWS_WITH_AS(require_uninterrupted(), doctest::Contains("interrupted"), Error);
    const Interruptible never(std::function<bool()>{});
    CHECK_FALSE(interruption_asked());
  }
  outer = true;
  CHECK(interruption_asked());
  CHECK_FALSE(std::async(std::launch::async, [] { return interruption_asked(); }).get());
}

TEST_CASE("bodies of a loop wait no longer than its caller") {
  std::atomic<unsigned> waiting{0};
  const Interruptible waits([&] { return waiting == 2; });
  const auto body = [&](std::uint64_t) {
    ++waiting;
    const auto until = std::chrono::steady_clock::now() + 20s;
    while (std::chrono::steady_clock::now() < until) {
      require_uninterrupted();
      std::this_thread::sleep_for(1ms);
    }
  };
  const auto began = std::chrono::steady_clock::now();
  CHECK_THROWS_WITH_AS(parallel_for(2, 2, body), doctest::Contains("interrupted"), Error);
  CHECK(std::chrono::steady_clock::now() - began < 10s);
}

TEST_CASE("bodies of a loop that one of them failed do not wait for the others' servers") {
  const auto body = [&](std::uint64_t item) {
    if (item == 1) throw Error::corrupt("this one");
    for (int i = 0; i < 20'000; ++i) {
      require_uninterrupted();
      std::this_thread::sleep_for(1ms);
    }
  };
  const auto began = std::chrono::steady_clock::now();
  CHECK_THROWS_WITH_AS(parallel_for(2, 2, body), doctest::Contains("this one"), Error);
  CHECK(std::chrono::steady_clock::now() - began < 10s);
}

TEST_CASE("who tidies up has little time once the user asked, and more before") {
  const auto lasts = [](bool asked) {
    const Interruptible waits([asked] { return asked; });
    const auto over = when_patience_ends(4s);
    const auto began = std::chrono::steady_clock::now();
    while (!over()) std::this_thread::sleep_for(10ms);
    return std::chrono::steady_clock::now() - began;
  };
  CHECK(lasts(true) < 4s);
  CHECK(lasts(false) >= 4s);
}
