// Cuts one value's work into pieces that may run side by side: the loop, its failures, and the pieces' scratch memory.
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

/// What of one call to run_pieces() all pieces share: the failure of the first piece, in order, that failed.
class PieceFailures {
 public:
  /// Runs `work()` unless a piece before this one has failed.
  template <class Work>
  void run(std::uint32_t piece, const Work& work) {
    if (piece > first_.load(std::memory_order_relaxed)) return;  // relaxed: running one too many does no harm
    auto failure = caught(work);
    if (failure == nullptr) return;
    const std::scoped_lock lock(mutex_);
    if (piece > first_.load(std::memory_order_relaxed)) return;
    first_.store(piece, std::memory_order_relaxed);
    failure_ = std::move(failure);
  }
  /// Once all pieces have ended.
  void rethrow() const {
    if (failure_ != nullptr) std::rethrow_exception(failure_);
  }

 private:
  std::atomic<std::uint32_t> first_{~std::uint32_t{0}};
  std::mutex mutex_;  // guards failure_, and changes of first_
  std::exception_ptr failure_;
};

/// Calls body(piece) once for each piece in [0, pieces), on `parallel`; null: in order, in the calling thread. Throws
/// what the first piece, in order, that fails throws, whichever fails first: the same error with and without threads.
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

/// The same for [0, count) in runs of `run` neighbours: body(begin, end).
template <class Body>
void run_bands(Parallel* parallel, std::uint64_t count, std::uint64_t run, const Body& body) {
  const auto pieces = static_cast<std::uint32_t>((count + run - 1) / run);
  run_pieces(parallel, pieces, [&](std::uint32_t piece) {
    const std::uint64_t begin = piece * run;
    body(begin, count - begin < run ? count : begin + run);
  });
}

/// Scratch memory of the pieces of one call: as many as run at a time, the first of which is the caller's own. The
/// others are given back when the call ends.
template <class Scratch>
class PieceScratch {
 public:
  explicit PieceScratch(Scratch& own) { idle_.push_back(&own); }

  /// Calls use(scratch) with one that no other piece has meanwhile; make() makes one more.
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
      to.idle_.push_back(scratch);  // room was made in keep()
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

  std::mutex mutex_;  // guards all below
  std::vector<Scratch*> idle_;
  std::vector<std::unique_ptr<Scratch>> made_;
};

}  // namespace penstock
