// Packs some samples of a dataset into a temporary folder, so that a format can be measured before all samples are
// packed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>

#include <penstock/dataset.hpp>
#include <penstock/pack.hpp>

namespace penstock {

/// A folder in the system's temporary folder. The destructor removes it with its content.
class TemporaryPlace {
 public:
  TemporaryPlace();  ///< throws Error: io
  ~TemporaryPlace();
  TemporaryPlace(TemporaryPlace&&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

struct SubsetLimits {
  std::size_t samples = 256;
  std::uint64_t bytes = std::uint64_t{256} << 20;  ///< stored bytes
  /// if it returns false, the call ends with Error: resource, "interrupted"
  std::function<bool()> keep_going = {};
};

/// Packs samples drawn from the dataset by `seed`, with all their fields, as a tar dataset at `destination`. The same
/// seed and limits give the same samples, with any recoding. Throws errors of reading and packing.
Dataset packed_subset(const Dataset& dataset, std::uint64_t seed, const SubsetLimits& limits, const Recoding& recoding,
                      const std::filesystem::path& destination);

}  // namespace penstock
