// Measures the efficiency reference: the same codecs and transforms in a plain loop over bytes already in memory.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include <penstock/chain.hpp>
#include <penstock/dataset.hpp>

namespace penstock {

struct LoopOptions {
  unsigned threads = 1;
  std::uint32_t batch_size = 64;  ///< rows of a slab
  std::uint32_t slabs = 4;        ///< written in turn: as many as the loader it is compared with
};

/// What a loader could reach at best: no index, no reads, no queues, no order. Of the samples in turn, each
/// thread takes every so-manyth, runs the compiled chains over its bytes and writes a row of its own in slabs that are
/// used again and again, as the loader's are.
class Ceiling {
 public:
  /// Reads stored bytes, of samples spread over the dataset, until `budget_bytes` are held; of a store, as
  /// many as come in two seconds.
  /// Throws what compiling the chains and reading throw; Error: resource, "interrupted", when keep_going() says no.
  Ceiling(const Dataset& dataset, std::span<const FieldChain> chains, std::uint64_t seed,
          std::uint64_t budget_bytes = std::uint64_t{256} << 20, const std::function<bool()>& keep_going = {});
  ~Ceiling();

  /// Runs the loop for that long; samples per second. Throws what a codec or transform throws.
  double run(const LoopOptions& options, std::chrono::nanoseconds duration);
  std::uint64_t held_bytes() const;  ///< memory that stored bytes and slabs take

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock
