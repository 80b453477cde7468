// What is told of a list of samples from the indexes of the shards that they stand in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include <formats/index/index.hpp>
#include <formats/lists/sample_list.hpp>

namespace penstock {

/// The fingerprint of a dataset of those samples: numbers run through all shards. One pass over the keys, but for
/// shards that stand in the list whole.
std::uint64_t fingerprint_of(const SampleList& samples, std::span<const Index* const> shards);

/// The field number of a shard that has no such field.
inline constexpr std::uint32_t kNoField = 0xFFFFFFFF;

/// True when each of the samples has the field, which has number `own(s)` in shard `s`.
bool all_have(const SampleList& samples, std::span<const Index* const> shards,
              const std::function<std::uint32_t(std::size_t shard)>& own);

}  // namespace penstock
