// Gets what codecs must know of a value before parts of it are read: from the index, or from its first bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <shared_mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include <formats/extent.hpp>
#include <penstock/codec.hpp>
#include <penstock/dataset.hpp>

namespace penstock {

/// Headers of values that `pack` did not record are read when first asked for, by plain pread, and kept: a folder of
/// LAS files is then sampled like a packed dataset. Any number of threads may ask.
class FieldHeaders {
 public:
  /// Keeps a reference. Beyond `most_bytes`, headers are read each time.
  explicit FieldHeaders(const Dataset& dataset, std::uint64_t most_bytes = std::uint64_t{64} << 20)
      : dataset_(dataset), most_bytes_(most_bytes) {}

  /// The header of a field that lies at `extent`; empty where its codec has none, or the bytes do not tell. Valid until
  /// `scratch` changes. Throws Error: io.
  std::span<const std::byte> of(std::uint64_t sample, std::uint32_t field, const Extent& extent,
                                std::vector<std::byte>& scratch);

 private:
  std::vector<std::byte> read(const Codec& codec, const Extent& extent) const;

  const Dataset& dataset_;
  const std::uint64_t most_bytes_;
  std::shared_mutex mutex_;  // guards what follows; values stay where they are once made
  std::unordered_map<std::uint64_t, std::vector<std::byte>> kept_;
  std::uint64_t bytes_ = 0;
};

}  // namespace penstock
