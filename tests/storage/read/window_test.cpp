// Tests the read window: sizes, what it keeps, and what it does when memory runs out.
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <future>
#include <map>
#include <random>
#include <stop_token>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <penstock/error.hpp>
#include <storage/read/window.hpp>

#include "support/kind_of_failure.hpp"

namespace penstock::test::window_test {

TEST_CASE("buffers have the next power of two of what was asked, 4 KiB at least, and hold it") {
  ReadWindow window(1 << 20);
  const std::pair<std::uint64_t, std::uint64_t> sizes[] = {
      {0, 4096}, {1, 4096}, {4096, 4096}, {4097, 8192}, {8192, 8192}, {65537, 131072}, {1 << 20, 1 << 20}};
  std::uint64_t all = 0;
  for (const auto& [bytes, size] : sizes) {
    ReadWindow own(1 << 20);
    std::byte* buffer = own.try_acquire(bytes);
    REQUIRE(buffer != nullptr);
    std::memset(buffer, 1, size);
    CHECK(own.reserved() == size);
    own.release(buffer);
    CHECK(own.reserved() == size);  // kept for the next one
    CHECK(own.try_acquire(size) == buffer);
    own.release(buffer);
    all += size;
  }
  CHECK(all > 1 << 20);
}

TEST_CASE("no more than its capacity is lent at once, and what comes back makes room") {
  ReadWindow window(4 * 4096);
  std::vector<std::byte*> lent;
  while (std::byte* buffer = window.try_acquire(4096)) lent.push_back(buffer);
  CHECK(lent.size() == 4);
  window.release(lent[1]);
  CHECK(window.try_acquire(4097) == nullptr);
  CHECK(window.try_acquire(4096) == lent[1]);
  window.release(lent[0]);
  window.release(lent[1]);
  CHECK(window.reserved() == 4 * 4096);
  std::byte* larger = window.try_acquire(2 * 4096);  // small free ones go for it
  REQUIRE(larger != nullptr);
  CHECK(window.reserved() == 4 * 4096);
  CHECK(window.try_acquire(1) == nullptr);
}

TEST_CASE("one value larger than the window is lent alone, in whole pages, and not kept") {
  ReadWindow window(8 * 4096);
  std::byte* small = window.try_acquire(1);
  CHECK(window.try_acquire(9 * 4096) == nullptr);
  window.release(small);
  std::byte* large = window.try_acquire(9 * 4096 + 1);
  REQUIRE(large != nullptr);
  std::memset(large, 1, 9 * 4096 + 1);
  CHECK(window.reserved() == 10 * 4096);
  CHECK(window.try_acquire(1) == nullptr);
  window.release(large);
  CHECK(window.reserved() == 0);
  window.release(window.try_acquire(16 * 4096));  // nor if it is a power of two
  CHECK(window.reserved() == 0);
  ReadWindow odd(6 * 4096);  // what would not fit as a power of two
  std::byte* five = odd.try_acquire(5 * 4096);
  REQUIRE(five != nullptr);
  CHECK(odd.reserved() == 5 * 4096);
  CHECK(odd.try_acquire(1) != nullptr);
  CHECK(odd.try_acquire(1) == nullptr);
  odd.release(five);
  CHECK(odd.try_acquire(5 * 4096) != nullptr);
}

TEST_CASE("who waits for room is woken by what comes back, by wake() and by a stop") {
  ReadWindow window(4096);
  std::byte* const all = window.try_acquire(4096);
  const auto waits = [&](const std::function<void(std::stop_source&, std::atomic<bool>&)>& wake) {
    std::stop_source stop;
    std::atomic<bool> cancelled{false}, waiting{false};
    auto got = std::async(std::launch::async, [&] {
      return window.acquire(4096, stop.get_token(), [&] {
        waiting = true;
        return cancelled.load();
      });
    });
    while (!waiting) std::this_thread::yield();
    wake(stop, cancelled);  // takes the lock that the other holds until it waits
    const bool woken = got.wait_for(std::chrono::seconds(60)) == std::future_status::ready;
    CHECK(woken);
    stop.request_stop();
    return got.get();
  };
  CHECK(waits([&](std::stop_source&, std::atomic<bool>& cancelled) {
          cancelled = true;
          window.wake();
        }) == nullptr);
  CHECK(waits([](std::stop_source& stop, std::atomic<bool>&) { stop.request_stop(); }) == nullptr);
  CHECK(waits([&](std::stop_source&, std::atomic<bool>&) { window.release(all); }) == all);
}

TEST_CASE("what no memory can hold is an error, and lends nothing") {
  ReadWindow window(1 << 20);
  for (const std::uint64_t bytes : {std::uint64_t{1} << 47, std::uint64_t{1} << 62, (std::uint64_t{1} << 62) + 1,
                                    (std::uint64_t{1} << 63) + 1, ~std::uint64_t{0}}) {
    CAPTURE(bytes);
    CHECK(kind_of_failure([&] { window.try_acquire(bytes); }) == ErrorKind::resource);
    CHECK(kind_of_failure([&] { window.acquire(bytes, {}, [] { return false; }); }) == ErrorKind::resource);
  }
  CHECK(window.reserved() == 0);
  CHECK(window.try_acquire(1 << 20) != nullptr);
}

TEST_CASE("lent buffers never overlap, and memory stays within the capacity") {
  constexpr std::uint64_t kCapacity = 1 << 20;
  ReadWindow window(kCapacity);
  std::mt19937_64 random(5);
  std::map<std::byte*, std::uint64_t> lent;
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t bytes = 1 + random() % (std::uint64_t{1} << (random() % 21));
    std::byte* buffer = random() % 2 == 0 ? window.try_acquire(bytes) : nullptr;
    if (buffer != nullptr) {
      const auto next = lent.lower_bound(buffer);
      CHECK((next == lent.end() || buffer + bytes <= next->first));
      CHECK((next == lent.begin() || std::prev(next)->first + std::prev(next)->second <= buffer));
      lent[buffer] = bytes;
    } else if (!lent.empty()) {
      const auto last = std::next(lent.begin(), static_cast<std::ptrdiff_t>(random() % lent.size()));
      window.release(last->first);
      lent.erase(last);
    }
    CHECK(window.reserved() <= kCapacity);
  }
}

}  // namespace penstock::test::window_test
