#include <algorithm>
#include <numeric>

#include <overview/ranges.hpp>

namespace penstock::overview {

Ranges merged(std::vector<Range> ranges) {
  std::erase_if(ranges, [](const Range& range) { return range.length() <= 0; });
  std::ranges::sort(ranges, {}, &Range::begin);
  Ranges out;
  for (const Range& range : ranges) {
    if (out.empty() || range.begin > out.back().end) {
      out.push_back(range);
    } else {
      out.back().end = std::max(out.back().end, range.end);
    }
  }
  return out;
}

Ranges intersection(std::span<const Range> left, std::span<const Range> right) {
  Ranges out;
  for (std::size_t l = 0, r = 0; l < left.size() && r < right.size();) {
    const Range both{std::max(left[l].begin, right[r].begin), std::min(left[l].end, right[r].end)};
    if (both.length() > 0) out.push_back(both);
    if (left[l].end < right[r].end) {
      ++l;
    } else {
      ++r;
    }
  }
  return out;
}

Ranges difference(std::span<const Range> left, std::span<const Range> right) {
  Ranges out;
  std::size_t r = 0;
  for (Range rest : left) {
    while (r < right.size() && right[r].end <= rest.begin) ++r;
    for (std::size_t next = r; next < right.size() && right[next].begin < rest.end; ++next) {
      if (right[next].begin > rest.begin) out.push_back({rest.begin, right[next].begin});
      rest.begin = right[next].end;
    }
    if (rest.length() > 0) out.push_back(rest);
  }
  return out;
}

Ranges clipped(std::span<const Range> ranges, const Range& to) {
  const auto first = std::ranges::upper_bound(ranges, to.begin, {}, &Range::end);
  const auto last = std::ranges::lower_bound(first, ranges.end(), to.end, {}, &Range::begin);
  const Range only[] = {to};
  return intersection({first, last}, only);
}

std::int64_t total(std::span<const Range> ranges) {
  return std::accumulate(ranges.begin(), ranges.end(), std::int64_t{0},
                         [](std::int64_t sum, const Range& range) { return sum + range.length(); });
}

}  // namespace penstock::overview
