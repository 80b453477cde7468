// Tries on a few samples, in memory, what chains take of values that are kept in another way.
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
  double seconds = 2;                     ///< to read them, and again to run them
  std::function<bool()> keep_going = {};  ///< asked between samples; false ends with Error: resource, "interrupted"
};

/// Values of an output's fields, of samples drawn from the dataset, which must outlive them; those that have none are
/// left out, and so are those that cannot be read.
std::vector<HeldValue> held_values(const Dataset& dataset, const Output& output, std::uint64_t seed,
                                   const HeldLimits& limits);

/// Whether rows of the output can be timed alone: it follows no other, and they have one length.
bool runs_alone(const Program& program, std::uint32_t output);

/// Runs the output's chain over all values as they are stored and, right behind each, as each of `ways` has it: as many
/// of the first values as it is long. Returns for each way the time of codecs and transforms beside that of the same
/// values as stored. The output must run alone. Throws what codecs and transforms throw, but for bad values.
std::vector<double> raced(const Program& program, std::uint32_t output, std::uint64_t seed,
                          const std::vector<HeldValue>& values, const std::vector<std::vector<FieldBytes>>& ways,
                          const HeldLimits& limits);

/// What `cache="decoded"` would keep of each sample, and the time of codecs and transforms with it. From rows of
/// outputs whose images or rows it keeps, weighed by `outputs`, which a loader with these options recorded. Nothing
/// where it keeps nothing of the kind. Takes `limits.seconds` at most, for each output.
std::optional<CacheDemand> tried_pixels(const Dataset& dataset, const Program& program,
                                        std::span<const OutputStats> outputs, std::uint64_t seed,
                                        const HeldLimits& limits);

/// By output, the share of `outputs` in the time of codecs and transforms; equal where nothing was recorded.
std::vector<double> weights_of(std::span<const OutputStats> outputs);

}  // namespace penstock
