// Sets of points in time, as sorted ranges.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace penstock::overview {

/// Nanoseconds from `begin` to before `end`.
struct Range {
  std::int64_t begin, end;
  std::int64_t length() const { return end - begin; }
  friend bool operator==(const Range&, const Range&) = default;
};

/// Sorted, without overlaps, and none of them empty.
using Ranges = std::vector<Range>;

Ranges merged(std::vector<Range> ranges);  ///< of ranges in any order
Ranges intersection(std::span<const Range> left, std::span<const Range> right);
Ranges difference(std::span<const Range> left, std::span<const Range> right);  ///< the parts of left outside of right
Ranges clipped(std::span<const Range> ranges, const Range& to);                ///< the parts inside `to`
std::int64_t total(std::span<const Range> ranges);

}  // namespace penstock::overview
