// For which batches the samples of an epoch were put together by their lengths.
#pragma once

#include <cstdint>

namespace penstock {

/// A *global batch* is what all ranks have of a step. Those of an epoch are made for the ranks that begin it; others
/// that go on with it divide the same ones.
struct BatchLimits {
  std::uint32_t batch_size = 0;  ///< 0: those of the loader itself
  std::uint32_t world = 1;
  double budget = 0;  ///< of a rank; 0: none

  std::uint64_t rows() const { return std::uint64_t{batch_size} * world; }  ///< of a global batch, at most
  double budget_of_all() const { return budget * world; }
  /// One rank's, and the number of ranks, matter where there is a budget: rows are a multiple of the ranks then.
  bool same_batches(const BatchLimits& other) const {
    return budget == 0 && other.budget == 0 ? rows() == other.rows() : *this == other;
  }
  /// Ranks of the one can have what is composed for the other.
  bool same_in_all(const BatchLimits& other) const {
    return rows() == other.rows() && budget_of_all() == other.budget_of_all();
  }
  friend bool operator==(const BatchLimits&, const BatchLimits&) = default;
};

}  // namespace penstock
