// Divides the work on one value into pieces that may run in parallel: the loop, its errors, and scratch memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <base/caught.hpp>
#include <penstock/codec.hpp>

namespace penstock {

/// The shared state of one call to run_pieces(): the error of the first piece, in piece order, that failed.
class PieceFailures {
 public:
  /// Runs `work()` unless an earlier piece has failed.
  template <class Work>
  void run(std::uint32_t piece, const Work& work) {
    // Relaxed, because running a superfluous piece does no harm.
    if (piece > first_.load(std::memory_order_relaxed)) return;
    auto failure = caught(work);
    if (failure == nullptr) return;
    const std::scoped_lock lock(mutex_);
    if (piece > first_.load(std::memory_order_relaxed)) return;
    first_.store(piece, std::memory_order_relaxed);
    failure_ = std::move(failure);
  }
  /// Must be called after all pieces have ended.
  void rethrow() const {
    if (failure_ != nullptr) std::rethrow_exception(failure_);
  }

 private:
  std::atomic<std::uint32_t> first_{~std::uint32_t{0}};
  std::mutex mutex_;  // guards failure_, and writes to first_
  std::exception_ptr failure_;
};

/// Calls body(piece) once for each piece in [0, pieces), on `parallel`, or, if null, in order in the calling thread. If
/// pieces fail, throws the exception of the first one in piece order. The error is thus the same with and without
/// threads.
template <class Body>
void run_pieces(Parallel* parallel, std::uint32_t pieces, const Body& body) {
  if (parallel == nullptr || pieces < 2) {
    for (std::uint32_t piece = 0; piece < pieces; ++piece) body(piece);
    return;
  }
  PieceFailures failures;
  const auto guarded = [&failures, &body](std::uint32_t piece) { failures.run(piece, [&] { body(piece); }); };
  parallel->run(pieces, guarded);
  failures.rethrow();
}

/// Like run_pieces(), for [0, count) in runs of `run` neighbours: body(begin, end).
template <class Body>
void run_bands(Parallel* parallel, std::uint64_t count, std::uint64_t run, const Body& body) {
  const auto pieces = static_cast<std::uint32_t>((count + run - 1) / run);
  run_pieces(parallel, pieces, [&](std::uint32_t piece) {
    const std::uint64_t begin = piece * run;
    body(begin, count - begin < run ? count : begin + run);
  });
}

/// Scratch memory for the pieces of one call, one for each concurrent piece. The first belongs to the caller. The
/// others are freed at the end of the call.
template <class Scratch>
class PieceScratch {
 public:
  explicit PieceScratch(Scratch& own) { idle_.push_back(&own); }

  /// Calls use(scratch) with scratch memory that no other piece uses. Calls make() if all existing ones are in use.
  template <class Make, class Use>
  void lend(const Make& make, const Use& use) {
    Scratch* scratch = take();
    if (scratch == nullptr) scratch = keep(make());
    const Return back{*this, scratch};
    use(*scratch);
  }

 private:
  struct Return {
    PieceScratch& to;
    Scratch* scratch;
    ~Return() {
      const std::scoped_lock lock(to.mutex_);
      to.idle_.push_back(scratch);  // keep() reserved the capacity, so this does not throw
    }
  };

  Scratch* take() {
    const std::scoped_lock lock(mutex_);
    if (idle_.empty()) return nullptr;
    Scratch* last = idle_.back();
    idle_.pop_back();
    return last;
  }
  Scratch* keep(std::unique_ptr<Scratch> made) {
    const std::scoped_lock lock(mutex_);
    idle_.reserve(made_.size() + 2);
    return made_.emplace_back(std::move(made)).get();
  }

  std::mutex mutex_;  // guards the members below
  std::vector<Scratch*> idle_;
  std::vector<std::unique_ptr<Scratch>> made_;
};

}  // namespace penstock
