// Provides the headers that codecs need before they read parts of a value: from the index, or from the first bytes of
// the value.
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

/// Headers that `pack` did not record are read with pread on first use and kept. A folder of LAS files can therefore
/// be sampled like a packed dataset. Thread-safe.
class FieldHeaders {
 public:
  /// Keeps a reference to the dataset. Beyond `most_bytes` of headers, it reads further headers each time.
  explicit FieldHeaders(const Dataset& dataset, std::uint64_t most_bytes = std::uint64_t{64} << 20)
      : dataset_(dataset), most_bytes_(most_bytes) {}

  /// Returns the header of the field stored at `extent`. Returns an empty span if the codec has no header or the
  /// bytes do not contain one. The span is valid until `scratch` changes. Throws Error: io.
  std::span<const std::byte> of(std::uint64_t sample, std::uint32_t field, const Extent& extent,
                                std::vector<std::byte>& scratch);

 private:
  std::vector<std::byte> read(const Codec& codec, const Extent& extent) const;

  const Dataset& dataset_;
  const std::uint64_t most_bytes_;
  std::shared_mutex mutex_;  // guards all below; values keep their address once they are made
  std::unordered_map<std::uint64_t, std::vector<std::byte>> kept_;
  std::uint64_t bytes_ = 0;
};

}  // namespace penstock
