// Compares sets of ranges with sets of single nanoseconds.
#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <overview/ranges.hpp>

namespace penstock::test::ranges_test {
namespace {

using overview::clipped;
using overview::difference;
using overview::intersection;
using overview::merged;
using overview::Range;
using overview::Ranges;
using overview::total;

constexpr std::int64_t kLength = 120;

/// One value per nanosecond from an origin on: true inside of the ranges.
using Points = std::vector<bool>;

Points points_of(const std::vector<Range>& ranges, std::int64_t origin) {
  Points points(kLength, false);
  for (const Range& range : ranges) {
    for (std::int64_t time = range.begin; time < range.end; ++time)
      points[static_cast<std::size_t>(time - origin)] = true;
  }
  return points;
}

Points combined(const Points& left, const Points& right, bool (*keep)(bool left, bool right)) {
  Points out;
  for (std::size_t i = 0; i < left.size(); ++i) out.push_back(keep(left[i], right[i]));
  return out;
}

bool is_normal(const Ranges& ranges) {
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (ranges[i].begin >= ranges[i].end) return false;
    if (i != 0 && ranges[i].begin < ranges[i - 1].end) return false;
  }
  return true;
}

class RandomRanges {
 public:
  RandomRanges(unsigned seed, std::int64_t origin) : random_(seed), origin_(origin) {}

  /// In any order, with overlaps, ranges that touch, and empty ones.
  std::vector<Range> some() {
    std::vector<Range> out;
    const std::int64_t longest = 1 + number(kLength);
    for (std::int64_t count = number(20); count > 0; --count) {
      const std::int64_t begin = number(kLength);
      out.push_back({origin_ + begin, origin_ + std::min(kLength, begin + number(longest))});
    }
    return out;
  }
  Range one() {
    const std::int64_t begin = number(kLength);
    return {origin_ + begin, origin_ + begin + number(kLength - begin)};
  }

 private:
  std::int64_t number(std::int64_t below) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(below));
  }
  std::mt19937_64 random_;
  std::int64_t origin_;
};

}  // namespace

TEST_CASE("operations on ranges give the same as those on sets of points") {
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  for (const std::int64_t origin : {std::int64_t{0}, std::int64_t{-60}, std::int64_t{1'745'000'000'000'000'000}}) {
    CAPTURE(origin);
    RandomRanges random(seed, origin);
    for (int round = 0; round < 2000; ++round) {
      CAPTURE(round);
      const std::vector<Range> some = random.some(), others = random.some();
      const Range one = random.one();
      const Points left = points_of(some, origin), right = points_of(others, origin), window = points_of({one}, origin);
      const Ranges l = merged(some), r = merged(others);
      const Ranges both = intersection(l, r), rest = difference(l, r), part = clipped(l, one);
      for (const Ranges* ranges : {&l, &r, &both, &rest, &part}) CHECK(is_normal(*ranges));
      CHECK(points_of(l, origin) == left);
      CHECK(points_of(both, origin) == combined(left, right, [](bool a, bool b) { return a && b; }));
      CHECK(points_of(rest, origin) == combined(left, right, [](bool a, bool b) { return a && !b; }));
      CHECK(points_of(part, origin) == combined(left, window, [](bool a, bool b) { return a && b; }));
      CHECK(total(l) == std::count(left.begin(), left.end(), true));
    }
  }
}

TEST_CASE("ranges that touch are one range") {
  CHECK(merged({{5, 9}, {0, 3}, {3, 5}}) == Ranges{{0, 9}});
  CHECK(merged({{0, 3}, {4, 5}}) == Ranges{{0, 3}, {4, 5}});
}

TEST_CASE("empty and reversed ranges contain nothing") {
  CHECK(merged({{3, 3}, {9, 4}}).empty());
  CHECK(merged({{0, 10}, {3, 3}, {9, 4}}) == Ranges{{0, 10}});
  CHECK(clipped(Ranges{{0, 10}}, {4, 4}).empty());
  CHECK(intersection(Ranges{}, Ranges{{0, 10}}).empty());
  CHECK(difference(Ranges{{0, 10}}, Ranges{}) == Ranges{{0, 10}});
  CHECK(total(Ranges{}) == 0);
}

TEST_CASE("the largest times do not overflow") {
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  const Ranges all = merged({{-kMost, -1}, {1, kMost}});
  CHECK(total(all) == 2 * (kMost - 1));
  CHECK(difference(all, Ranges{{-5, 5}}) == Ranges{{-kMost, -5}, {5, kMost}});
}

}  // namespace penstock::test::ranges_test
