#include <algorithm>
#include <vector>

#include <formats/extent.hpp>
#include <formats/io/hash.hpp>
#include <formats/lists/listed_samples.hpp>

namespace penstock {
namespace {

// Calls `take` for the part of each run of the list in each shard: (shard, first local sample, count).
template <typename Take>
void for_each_run_of_shards(const SampleList& samples, std::span<const Index* const> shards, const Take& take) {
  std::vector<std::uint64_t> firsts{0};
  for (const Index* index : shards) firsts.push_back(firsts.back() + index->size());
  samples.for_each_run([&](std::uint64_t first, std::uint64_t count) {
    auto shard = static_cast<std::size_t>(std::upper_bound(firsts.begin(), firsts.end(), first) - firsts.begin()) - 1;
    for (const std::uint64_t end = first + count; first < end; ++shard) {
      const std::uint64_t stop = std::min(end, firsts[shard + 1]);
      if (stop > first) take(shard, first - firsts[shard], stop - first);
      first = std::max(first, stop);
    }
  });
}

}  // namespace

std::uint64_t fingerprint_of(const SampleList& samples, std::span<const Index* const> shards) {
  std::uint64_t hash = 0;
  const std::uint64_t multiplier = key_hash_power(1);
  for_each_run_of_shards(samples, shards, [&](std::size_t shard, std::uint64_t first, std::uint64_t count) {
    const Index& index = *shards[shard];
    if (count == index.size()) {
      hash = hash * key_hash_power(count) + index.key_hash();
      return;
    }
    for (std::uint64_t local = first; local < first + count; ++local)
      hash = hash * multiplier + hash64(index.key(local));
  });
  return hash;
}

bool all_have(const SampleList& samples, std::span<const Index* const> shards,
              const std::function<std::uint32_t(std::size_t shard)>& own) {
  bool all = true;
  std::vector<Piece> pieces;
  for_each_run_of_shards(samples, shards, [&](std::size_t shard, std::uint64_t first, std::uint64_t count) {
    const std::uint32_t field = own(shard);
    all = all && field != kNoField;
    if (!all || shards[shard]->complete(field)) return;
    for (std::uint64_t local = first; all && local < first + count; ++local)
      all = shards[shard]->locate(local, field, pieces);
  });
  return all;
}

}  // namespace penstock
