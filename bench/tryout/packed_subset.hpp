// Packs some samples of a dataset into a temporary folder, so that a packing can be measured before all are packed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>

#include <penstock/dataset.hpp>
#include <penstock/pack.hpp>

namespace penstock {

/// A folder below the system's temporary one, with all that is in it; both are gone with this.
class TemporaryPlace {
 public:
  TemporaryPlace();  ///< Throws Error: io.
  ~TemporaryPlace();
  TemporaryPlace(TemporaryPlace&&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

struct SubsetLimits {
  std::size_t samples = 256;
  std::uint64_t bytes = std::uint64_t{256} << 20;  ///< stored
  std::function<bool()> keep_going = {};           ///< false ends with Error: resource, "interrupted"
};

/// Samples drawn from the dataset by `seed`, with all their fields, as a tar dataset at `destination`: the same ones
/// for the same seed and limits, whatever the recoding. Throws what reading and packing throw.
Dataset packed_subset(const Dataset& dataset, std::uint64_t seed, const SubsetLimits& limits, const Recoding& recoding,
                      const std::filesystem::path& destination);

}  // namespace penstock
