// Batches of samples of like lengths: what their lengths are, and how batches are composed by them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <penstock/order/buckets/length_table.hpp>

namespace penstock {

/// For LoaderOptions::buckets; bucket_by() (penstock/loader/choices/lengths.hpp) makes it. docs/order.md defines the
/// batches.
struct LengthBuckets {
  std::string by = {};                              ///< whose lengths they are: "tokens"; empty: the program's own
  std::shared_ptr<const LengthTable> lengths = {};  ///< of each sample of the dataset
  /// So many samples that follow each other in the order are sorted by length and cut into batches; rounded down to
  /// whole batches of all ranks.
  std::uint64_t window = 100'000;
  /// The longest row of a batch times its rows is at most this, and batch_size the most rows; 0: batches have
  /// batch_size rows.
  double budget = 0;
};

}  // namespace penstock
