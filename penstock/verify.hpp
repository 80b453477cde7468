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

struct VerifyOptions {
  const Dataset* against = nullptr;  ///< the source that the values must equal; null: checksums alone
  unsigned workers = 0;              ///< threads; 0: usable cores, and 16 at least where a dataset is in a store
};

struct BadValue {
  std::string key, field;  ///< both empty for a whole shard, which `cause` then names
  std::string cause;
};

struct VerifyResult {
  std::uint64_t samples = 0, values = 0, bytes = 0;  ///< read
  std::uint64_t checked = 0;                         ///< values that had a CRC32C to compare with
  std::uint64_t ranges_checked = 0;                  ///< of values, at most 64 KiB each, that had one of their own
  std::uint64_t compared = 0;                        ///< values that had a source to compare with
  std::uint64_t shards_checked = 0;
  std::uint64_t indexes_compared = 0;  ///< of shards that others packed, with an index made of what is there now
  std::uint64_t bad_count = 0;
  std::vector<BadValue> bad;  ///< the first 10,000, in sample order; shards last
};

/// Samples are matched with the source by key. Fields that the source does not have (labels kept apart) are not
/// compared; class indexes are compared by class name where both datasets name their classes.
/// A photograph stored as `jpt` equals the JPEG file that comes back of it; other values that were made over equal
/// those from which the dataset's packing makes the same bytes again. Beside the bytes, what a loader delivers of them
/// is compared with what it delivers of the source's, as delivery_proof.hpp says. `progress(done, total)` counts
/// samples and shards; false ends with Error: resource, "interrupted". Throws only what is no fault of the data: Error:
/// resource. Everything else is a bad value.
VerifyResult verify(const Dataset& dataset, const VerifyOptions& options = {},
                    const std::function<bool(std::uint64_t done, std::uint64_t total)>& progress = {});

}  // namespace penstock
