// Credentials are looked for once for all who ask, before they expire and after they are doubted, and good ones are
// kept.
#include <atomic>
#include <chrono>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <base/thread.hpp>
#include <base/waits/interruption.hpp>
#include <penstock/error.hpp>
#include <remote/credentials/renewed.hpp>

#include "support/check_soon.hpp"

using namespace penstock;
using namespace std::chrono_literals;
using test::Attempt;
using test::check_soon;

namespace {

Found<std::string> named(int number, std::chrono::milliseconds lives) {
  return {.secret = std::to_string(number), .expires = std::chrono::system_clock::now() + lives, .origin = "here"};
}

}  // namespace

TEST_CASE("threads that need credentials at once share one search") {
  std::atomic<int> searches{0};
  Renewed<std::string> renewed([&] {
    std::this_thread::sleep_for(20ms);
    return named(++searches, 1h);
  });
  CHECK(renewed.now() == nullptr);
  std::vector<Thread> threads;
  start_threads(threads, "asks", 16, [&](unsigned, const std::stop_token&) {
    if (renewed.stale()) renewed.renew();
    CHECK(renewed.now()->secret == "1");
  });
  threads.clear();
  CHECK(searches == 1);
  CHECK_FALSE(renewed.stale());
}

TEST_CASE("a wait for the search of another thread ends with it, or when the user has enough") {
  std::atomic<bool> searches{false}, goes_on{true}, enough{false};
  Renewed<std::string> renewed([&] {
    searches = true;
    while (goes_on) std::this_thread::sleep_for(1ms);
    return named(1, 1h);
  });
  std::vector<Thread> threads;
  start_threads(threads, "searches", 1, [&](unsigned, const std::stop_token&) { renewed.renew(); });
  while (!searches) std::this_thread::sleep_for(1ms);
  {
    const Interruptible waits([&] { return enough.load(); });
    enough = true;
    CHECK_THROWS_WITH_AS(renewed.renew(), doctest::Contains("interrupted"), Error);
  }
  goes_on = false;
  renewed.renew();
  CHECK(renewed.now()->secret == "1");
}

TEST_CASE("a search that fails lets the next one search") {
  int searches = 0;
  Renewed<std::string> renewed([&]() -> Found<std::string> {
    if (++searches == 1) throw std::bad_alloc();
    return named(searches, 1h);
  });
  CHECK_THROWS_AS(renewed.renew(), std::bad_alloc);
  renewed.renew();
  CHECK(renewed.now()->secret == "2");
}

TEST_CASE("credentials are stale before they expire, and once they are doubted, but not for those who come late") {
  check_soon([] {
    Attempt attempt;
    int searches = 0;
    Renewed<std::string> renewed([&] { return named(++searches, 1000ms); });
    renewed.renew();
    attempt.expect(!renewed.stale(), "new ones are stale");
    std::this_thread::sleep_for(850ms);
    attempt.expect(renewed.stale(), "with a fifth of their time left they are not stale");
    renewed.renew();
    attempt.expect(searches == 2, "there were " + std::to_string(searches) + " searches");
    renewed.doubt();  // by a request that went out with the ones before
    attempt.expect(!renewed.stale(), "a late doubt counts");
    std::this_thread::sleep_for(550ms);
    renewed.doubt();
    attempt.expect(renewed.stale(), "a doubt does not count");
    return attempt;
  });
}

TEST_CASE("credentials that have expired when they come are not looked for again with each request") {
  check_soon([] {
    Attempt attempt;
    int searches = 0;
    Renewed<std::string> renewed([&] { return named(++searches, -1h); });
    renewed.renew();
    attempt.expect(!renewed.stale(), "they are stale at once");
    CHECK(renewed.now()->secret == "1");
    std::this_thread::sleep_for(550ms);
    attempt.expect(renewed.stale(), "they are never stale");
    return attempt;
  });
}

TEST_CASE("a search that fails is an error only where nothing good is left") {
  check_soon([] {
    Attempt attempt;
    bool fails = false;
    Renewed<std::string> renewed([&] {
      if (fails) throw Error(ErrorKind::io, "nobody answers");
      return named(1, 1000ms);
    });
    const auto can_renew = [&] {
      try {
        renewed.renew();
        return true;
      } catch (const Error&) {
        return false;
      }
    };
    renewed.renew();
    fails = true;
    std::this_thread::sleep_for(850ms);
    attempt.expect(renewed.stale(), "they are not stale");
    attempt.expect(can_renew(), "good ones were given up");
    CHECK(renewed.now()->secret == "1");
    attempt.expect(!renewed.stale(), "each request would search again");
    std::this_thread::sleep_for(200ms);
    attempt.expect(!can_renew() && !can_renew(), "expired ones are kept");
    fails = false;
    CHECK(can_renew());
    attempt.expect(!renewed.stale(), "new ones are stale");
    return attempt;
  });
}
