#include <algorithm>
#include <bit>
#include <string>

#include <penstock/error.hpp>
#include <transforms/clouds/samplers/radix_sort.hpp>
#include <transforms/clouds/samplers/random.hpp>

namespace penstock {
namespace {

class RandomSampler : public PointSampler {
 public:
  explicit RandomSampler(std::int64_t points) : points_(static_cast<std::uint64_t>(points)) {}

  void choose(const PointColumns& cloud, Random& random, ChosenPoints& chosen) override {
    chosen.cells.clear();
    choose_random(cloud.count, points_, random, chosen.numbers);
  }

 private:
  std::uint64_t points_;
};

void check_numbered(std::uint64_t points) {
  if (points > std::uint64_t{1} << 32)
    throw Error::unsupported("a cloud of " + std::to_string(points) +
                             " points is too large, because point numbers have 32 bits");
}

void all_of_them(std::uint64_t points, std::vector<std::uint32_t>& numbers) {
  numbers.resize(points);
  for (std::size_t i = 0; i < points; ++i) numbers[i] = static_cast<std::uint32_t>(i);
}

/// Lists the numbers of the `count` set bits, ascending. The number of set bits in a word is unpredictable. Two numbers
/// are therefore written for every word without a branch, and only set bits are counted.
void numbers_of_bits(const std::vector<std::uint64_t>& words, std::uint64_t count,
                     std::vector<std::uint32_t>& numbers) {
  numbers.resize(count + 2);
  std::uint32_t* to = numbers.data();
  std::uint32_t first = 0;
  const auto take = [&](std::uint64_t bits) {
    *to = first + static_cast<std::uint32_t>(std::countr_zero(bits | std::uint64_t{1} << 63));
    to += bits != 0 ? 1 : 0;
    return bits & (bits - 1);
  };
  for (std::uint64_t bits : words) {
    bits = take(take(bits));
    while (bits != 0) bits = take(bits);
    first += 64;
  }
  numbers.resize(count);
}

/// Floyd's algorithm with a bit for each number, which lists the numbers in order at the cost of a step for each 64
/// numbers. If more than half of the points are wanted, draws those to leave out.
void choose_by_bits(std::uint64_t points, std::uint64_t wanted, Random& random, std::vector<std::uint32_t>& numbers) {
  const bool leave_out = wanted > points / 2;
  std::vector<std::uint64_t> drawn((points + 63) / 64);
  const auto insert = [&](std::uint64_t number) {
    const std::uint64_t bit = std::uint64_t{1} << number % 64, word = drawn[number / 64];
    drawn[number / 64] = word | bit;
    return (word & bit) == 0;
  };
  for (std::uint64_t i = points - (leave_out ? points - wanted : wanted); i < points; ++i)
    if (!insert(random.below(i + 1))) insert(i);
  if (leave_out) {
    for (std::uint64_t& word : drawn) word = ~word;
    if (points % 64 != 0) drawn.back() &= (std::uint64_t{1} << points % 64) - 1;
  }
  numbers_of_bits(drawn, wanted, numbers);
}

/// Draws until there are `wanted` different numbers. All subsets are equally likely, because no round draws more
/// numbers than are missing.
void choose_by_sorting(std::uint64_t points, std::uint64_t wanted, Random& random,
                       std::vector<std::uint32_t>& numbers) {
  numbers.clear();
  std::vector<std::uint32_t> spare;
  while (numbers.size() < wanted) {
    for (std::uint64_t missing = wanted - numbers.size(); missing > 0; --missing)
      numbers.push_back(static_cast<std::uint32_t>(random.below(points)));
    radix_sort(numbers, spare, static_cast<unsigned>(std::bit_width(points - 1)),
               [](std::uint32_t number) { return number; });
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  }
}

}  // namespace

std::unique_ptr<PointSampler> random_sampler(const SampleOptions& options) {
  return std::make_unique<RandomSampler>(options.points);
}

void choose_random(std::uint64_t points, std::uint64_t wanted, Random& random, std::vector<std::uint32_t>& numbers) {
  check_numbered(points);
  if (wanted >= points) return all_of_them(points, numbers);
  constexpr std::uint64_t kSparse = 256;  // beyond this ratio there are far more words of bits than draws
  if (points / kSparse > wanted) return choose_by_sorting(points, wanted, random, numbers);
  choose_by_bits(points, wanted, random, numbers);
}

void choose_in_blocks(std::uint64_t points, std::uint64_t wanted, std::uint64_t block_points, std::uint64_t blocks,
                      Random& random, std::vector<std::uint32_t>& numbers) {
  check_numbered(points);
  if (block_points == 0) throw Error::invalid_argument("blocks of 0 points");
  wanted = std::min(wanted, points);
  const std::uint64_t all = points / block_points + (points % block_points != 0 ? 1 : 0);
  const std::uint64_t enough = wanted / block_points + (wanted % block_points != 0 ? 1 : 0);
  std::vector<std::uint32_t> chosen;
  choose_random(all, std::max(blocks, enough), random, chosen);
  const auto size = [&](std::uint32_t block) { return std::min(block_points, points - block * block_points); };
  const auto held = [&] {
    std::uint64_t sum = 0;
    for (const std::uint32_t block : chosen) sum += size(block);
    return sum;
  };
  // The last block, which may be shorter, is among the chosen ones.
  if (held() < wanted) fill_up_random(all, 1, random, chosen);
  choose_random(held(), wanted, random, numbers);
  std::uint64_t before = 0;  // points of the earlier chosen blocks
  std::size_t block = 0;
  for (std::uint32_t& number : numbers) {
    while (number - before >= size(chosen[block])) before += size(chosen[block++]);
    number = static_cast<std::uint32_t>(chosen[block] * block_points + (number - before));
  }
}

void fill_up_random(std::uint64_t points, std::uint64_t wanted, Random& random, std::vector<std::uint32_t>& numbers) {
  std::vector<std::uint32_t> drawn;
  choose_random(points - numbers.size(), wanted, random, drawn);  // numbered among the remaining points
  std::uint32_t taken = 0;                                        // entries of `numbers` below the current number
  for (std::uint32_t& number : drawn) {
    while (taken < numbers.size() && numbers[taken] <= number + taken) ++taken;
    number += taken;
  }
  const auto middle = static_cast<std::ptrdiff_t>(numbers.size());
  numbers.insert(numbers.end(), drawn.begin(), drawn.end());
  std::inplace_merge(numbers.begin(), numbers.begin() + middle, numbers.end());
}

}  // namespace penstock
