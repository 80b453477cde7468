// Computes properties of a list of samples from the indexes of their shards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include <formats/index/index.hpp>
#include <formats/lists/sample_list.hpp>

namespace penstock {

/// Returns the fingerprint of a dataset of those samples. Sample numbers count through all shards. Makes one pass over
/// the keys, except for shards that the list contains completely.
std::uint64_t fingerprint_of(const SampleList& samples, std::span<const Index* const> shards);

/// The field number in a shard without the field.
inline constexpr std::uint32_t kNoField = 0xFFFFFFFF;

/// Returns whether each of the samples has the field. Its number in shard `s` is `own(s)`.
bool all_have(const SampleList& samples, std::span<const Index* const> shards,
              const std::function<std::uint32_t(std::size_t shard)>& own);

}  // namespace penstock
