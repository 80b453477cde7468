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
  std::uint32_t batch_size = 64;  ///< rows per slab
  std::uint32_t slabs = 4;        ///< written in turn: as many as the compared loader has
};

/// An upper limit for a loader: no index, no reads, no queues, no order. The threads share the samples by turns. Each
/// thread runs the compiled chains over stored bytes, and writes its own rows in slabs that are reused, like the
/// loader's.
class Ceiling {
 public:
  /// Reads stored bytes of samples spread over the dataset, up to `budget_bytes`. From a store, reads for two seconds
  /// at most. Throws errors of compiling the chains and of reading; Error: resource, "interrupted", if keep_going()
  /// returns false.
  Ceiling(const Dataset& dataset, std::span<const FieldChain> chains, std::uint64_t seed,
          std::uint64_t budget_bytes = std::uint64_t{256} << 20, const std::function<bool()>& keep_going = {});
  ~Ceiling();

  /// Runs the loop for `duration`. Returns samples per second. Throws errors of codecs and transforms.
  double run(const LoopOptions& options, std::chrono::nanoseconds duration);
  std::uint64_t held_bytes() const;  ///< memory of stored bytes and slabs

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock
