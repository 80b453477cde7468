// Verifies a packed dataset: reads every byte, and compares checksums and, on request, the source's values.
//
//   const penstock::VerifyResult result = penstock::verify(penstock::open("shards"));
//   std::cout << result.bad_count << " of " << result.values << " values are damaged\n";
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <penstock/dataset.hpp>

namespace penstock {

/// The options of verify().
struct VerifyOptions {
  const Dataset* against = nullptr;  ///< the source that the values must equal; null: check only checksums
  /// also decode images, point clouds and .npy arrays like a loader, so that damaged files without a checksum are found
  bool decode = false;
  unsigned workers = 0;  ///< threads; 0: usable cores, but at least 16 if a dataset is in a store
};

/// A value or shard that failed verification.
struct BadValue {
  std::string key, field;  ///< both empty for a whole shard, which `cause` then names
  std::string cause;
};

/// The result of verify().
struct VerifyResult {
  std::uint64_t samples = 0, values = 0, bytes = 0;  ///< read
  std::uint64_t checked = 0;                         ///< values compared with a CRC-32C
  std::uint64_t ranges_checked = 0;  ///< ranges of values, at most 64 KiB each, compared with their own CRC-32C
  std::uint64_t compared = 0;        ///< values compared with the source
  std::uint64_t decoded = 0;         ///< images, point clouds and arrays that were decoded
  std::uint64_t shards_checked = 0;
  std::uint64_t indexes_compared = 0;  ///< shards of other programs whose index was compared with a new one
  std::uint64_t bad_count = 0;
  std::vector<BadValue> bad;  ///< the first 10,000, in sample order; shards last
};

/// Verifies every value. Samples are matched with the source by key. The dataset's skipped.jsonl gives the cause for
/// samples that only the source has. Fields that the source lacks (labels stored separately) are not compared. Class
/// indexes are compared by class name if both datasets name their classes.
///
/// A photograph stored as `jpt` must restore the source's JPEG file. Other re-encoded values must equal the result of
/// re-encoding the source's value again. Arrays that became rows, or rows that became `.npy` values, must have the
/// source's dtype, shape and elements. In addition, the outputs that a loader delivers from both are compared, as
/// delivery_proof.hpp describes.
///
/// `progress(done, total)` counts samples and shards; if it returns false, verify() ends with Error: resource,
/// "interrupted". Throws only errors that the data did not cause: Error: resource. Everything else is a bad value.
VerifyResult verify(const Dataset& dataset, const VerifyOptions& options = {},
                    const std::function<bool(std::uint64_t done, std::uint64_t total)>& progress = {});

}  // namespace penstock
