// The plan: which sample is in which row of which batch, as a pure function of (seed, epoch, rank, world).
#pragma once

#include <cstdint>
#include <vector>

#include <penstock/loader/options.hpp>

namespace penstock {

/// A keyed permutation of [0, size), computed per position in constant memory.
/// A Feistel network over the next power of four, cycle-walked into range. Source: Black and Rogaway, "Ciphers with
/// Arbitrary Finite Domains", CT-RSA 2002.
class Permutation {
 public:
  Permutation(std::uint64_t size, std::uint64_t seed, std::uint64_t epoch);
  std::uint64_t operator()(std::uint64_t position) const;  ///< position < size
 private:
  std::uint64_t size_, mask_;
  unsigned half_bits_;
  std::uint64_t keys_[6];
};

/// What a plan is a function of. `samples` counts what the epoch delivers.
struct PlanOptions {
  std::uint64_t samples = 0;
  bool shuffle = false;
  std::uint64_t shuffle_block = 0;
  std::uint64_t seed = 0;
  std::uint32_t batch_size = 1, rank = 0, world = 1;
  Last last = Last::keep;
};

struct Row {
  std::uint64_t sample;    ///< number in the dataset (or in the list of included samples)
  std::uint64_t position;  ///< in the epoch's permutation
  bool valid;              ///< false for a repeat that pads
};

/// One rank's batches of one epoch, from position `start` on. Row i of batch b holds position
/// start + (b * world + rank) * batch_size + i of the epoch's permutation.
class Plan {
 public:
  Plan(const PlanOptions& options, std::uint64_t epoch, std::uint64_t start = 0);
  std::uint64_t batches() const;  ///< of this rank from `start` to the end of the epoch; equal on all ranks
  void batch(std::uint64_t b, std::vector<Row>& rows) const;  ///< replaces `rows`; the last batch may be short
  std::uint64_t sample_at(std::uint64_t position) const;      ///< position < samples
  /// First position not delivered once every rank has had `delivered` batches.
  std::uint64_t position_after(std::uint64_t delivered) const;

 private:
  PlanOptions options_;
  std::uint64_t start_;
  std::vector<Permutation> permutations_;
};

}  // namespace penstock
