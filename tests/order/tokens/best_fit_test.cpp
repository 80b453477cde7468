// Tests the packing of lengths into bins, with a search through all bins.
#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <order/tokens/best_fit.hpp>

namespace penstock::test::best_fit_test {
namespace {

using Bins = std::vector<std::vector<std::uint32_t>>;

Bins searched(const std::vector<std::uint32_t>& lengths, const std::vector<std::uint32_t>& order, std::uint32_t size) {
  Bins bins;
  std::vector<std::uint32_t> room;
  std::vector<std::size_t> placed;
  for (std::size_t time = 0; time < order.size(); ++time) {
    const std::uint32_t item = order[time];
    std::size_t best = bins.size();
    for (std::size_t bin = 0; bin < bins.size(); ++bin) {
      if (room[bin] < lengths[item]) continue;
      const bool better =
          best == bins.size() || room[bin] < room[best] || (room[bin] == room[best] && placed[bin] > placed[best]);
      if (better) best = bin;
    }
    if (best == bins.size()) {
      bins.emplace_back();
      room.push_back(size);
      placed.push_back(0);
    }
    bins[best].push_back(item);
    room[best] -= lengths[item];
    placed[best] = time;
  }
  return bins;
}

Bins packed(BestFit& packer, const std::vector<std::uint32_t>& lengths) {
  packer.pack(lengths);
  Bins bins;
  for (std::uint64_t bin = 0; bin < packer.bins(); ++bin) {
    const std::size_t end = bin + 1 < packer.bins() ? packer.begins()[bin + 1] : packer.items().size();
    bins.emplace_back(packer.items().begin() + packer.begins()[bin],
                      packer.items().begin() + static_cast<std::ptrdiff_t>(end));
  }
  return bins;
}

}  // namespace

TEST_CASE("each length goes into the bin with the least room, and what takes fewer bins counts") {
  std::mt19937 random(7);
  for (const std::uint32_t size : {1U, 5U, 63U, 64U, 200U, 5000U}) {
    BestFit packer(size);
    for (int round = 0; round < 120; ++round) {
      std::vector<std::uint32_t> lengths(random() % 60);
      for (std::uint32_t& length : lengths) length = 1 + static_cast<std::uint32_t>(random()) % size;
      std::vector<std::uint32_t> given(lengths.size());
      std::iota(given.begin(), given.end(), 0U);
      std::vector<std::uint32_t> falling = given;
      std::ranges::stable_sort(falling, std::greater{}, [&](std::uint32_t item) { return lengths[item]; });
      const Bins first = searched(lengths, falling, size), second = searched(lengths, given, size);
      CHECK(packed(packer, lengths) == (first.size() <= second.size() ? first : second));
    }
  }
}

TEST_CASE("the order given is taken where falling lengths need more bins") {
  BestFit packer(10);
  const std::vector<std::uint32_t> lengths{5, 3, 2, 4, 4, 2};  // 5 4 | 4 3 2 | 2 by falling length
  CHECK(packed(packer, lengths) == Bins{{0, 1, 2}, {3, 4, 5}});
}

}  // namespace penstock::test::best_fit_test
