// Measures, on a few samples in memory, how long chains take for values in another form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <loader/model/demands.hpp>
#include <penstock/dataset.hpp>
#include <penstock/stats.hpp>
#include <transforms/output.hpp>
#include <transforms/program/program.hpp>

namespace penstock {

/// The stored value of a sample's field.
struct HeldValue {
  std::uint64_t sample;
  std::string key;
  const FieldSchema* schema;
  std::vector<std::byte> bytes;
  FieldBytes field() const { return {.schema = schema, .bytes = bytes}; }
};

struct HeldLimits {
  std::size_t samples = 256;
  std::uint64_t bytes = std::uint64_t{64} << 20;
  double seconds = 2;                     ///< limit for reading them, and the same limit for running them
  std::function<bool()> keep_going = {};  ///< called between samples; false ends with Error: resource, "interrupted"
};

/// Returns values of an output's fields, of samples drawn at random. The dataset must outlive them. Samples without a
/// value, and those that cannot be read, are skipped.
std::vector<HeldValue> held_values(const Dataset& dataset, const Output& output, std::uint64_t seed,
                                   const HeldLimits& limits);

/// Returns true if rows of the output can be timed separately: it is not paired with another output, and all rows
/// have one length.
bool runs_alone(const Program& program, std::uint32_t output);

/// Runs the output's chain over all values as stored and, directly after each, over the forms of that value in
/// `ways`. A way may contain only the first values. Returns, for each way, the time of codecs and transforms relative
/// to that of the same values as stored. The output must satisfy runs_alone(). Skips invalid values; throws other
/// errors of codecs and transforms.
std::vector<double> raced(const Program& program, std::uint32_t output, std::uint64_t seed,
                          const std::vector<HeldValue>& values, const std::vector<std::vector<FieldBytes>>& ways,
                          const HeldLimits& limits);

/// Returns the bytes that `cache="decoded"` would keep of each sample, and the time of codecs and transforms with it.
/// Measures outputs whose images or rows such a cache keeps, and weights them by `outputs`, which a loader with these
/// options recorded. Returns nothing if it keeps none of them. Takes at most `limits.seconds` per output.
std::optional<CacheDemand> tried_pixels(const Dataset& dataset, const Program& program,
                                        std::span<const OutputStats> outputs, std::uint64_t seed,
                                        const HeldLimits& limits);

/// Returns each output's share of the time of codecs and transforms; equal shares if nothing was recorded.
std::vector<double> weights_of(std::span<const OutputStats> outputs);

}  // namespace penstock
