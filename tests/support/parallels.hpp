// Runs the pieces of a value in ways that a pool of workers may: on several threads in a shuffled order, or backwards.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include <penstock/codec.hpp>

namespace penstock::test {

/// Counts what it was asked for; `calls` is 0 where nothing was shared.
class CountedParallel : public Parallel {
 public:
  std::uint32_t calls = 0, most_pieces = 0;

 protected:
  void count(std::uint32_t pieces) {
    ++calls;
    most_pieces = std::max(most_pieces, pieces);
  }
  ~CountedParallel() = default;
};

/// On `threads` threads, the caller's among them.
class ShuffledThreads final : public CountedParallel {
 public:
  explicit ShuffledThreads(unsigned threads = 4, unsigned seed = 1) : threads_(threads), random_(seed) {}

  void run(std::uint32_t pieces, const std::function<void(std::uint32_t piece)>& body) override {
    count(pieces);
    std::vector<std::uint32_t> order(pieces);
    std::iota(order.begin(), order.end(), 0U);
    std::shuffle(order.begin(), order.end(), random_);
    std::atomic<std::uint32_t> next{0};
    std::exception_ptr failure;
    std::mutex mutex;
    const auto work = [&] {
      for (std::uint32_t at = next++; at < pieces; at = next++) {
        try {
          body(order[at]);
        } catch (...) {
          const std::scoped_lock lock(mutex);
          if (failure == nullptr) failure = std::current_exception();
          next = pieces;
        }
      }
    };
    std::vector<std::thread> others;
    for (unsigned i = 1; i < threads_; ++i) others.emplace_back(work);
    work();
    for (std::thread& other : others) other.join();
    if (failure != nullptr) std::rethrow_exception(failure);
  }

 private:
  const unsigned threads_;
  std::mt19937 random_;
};

/// In the calling thread alone, the last piece first.
class Backwards final : public CountedParallel {
 public:
  void run(std::uint32_t pieces, const std::function<void(std::uint32_t piece)>& body) override {
    count(pieces);
    for (std::uint32_t piece = pieces; piece-- > 0;) body(piece);
  }
};

}  // namespace penstock::test
