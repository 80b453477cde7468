// Compares the measured bandwidths with the bytes that a dataset and a training step need.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <bench/measure/bandwidth.hpp>
#include <bench/measure/sample_bytes.hpp>

namespace penstock {

struct BandwidthRow {
  enum class Bytes : std::uint8_t { none, stored, delivered };

  std::string resource;  ///< "disk"
  Bytes bytes;           ///< the bytes of a sample that pass through it
  Bandwidth measured;
  bool limits = true;  ///< whether loading is limited by it
};

/// A table: resource, MB/s, samples/s, and for a step the MB/s that it needs and their share.
/// samples_per_s: those that the step consumes.
std::string bandwidth_table(std::span<const BandwidthRow> rows, const std::optional<SampleBytes>& sample,
                            const std::optional<double>& samples_per_s);
/// One sentence: the resource that limits the loading. Empty without a sample.
std::string bandwidth_limit(std::span<const BandwidthRow> rows, const std::optional<SampleBytes>& sample,
                            const std::optional<double>& samples_per_s);

}  // namespace penstock
