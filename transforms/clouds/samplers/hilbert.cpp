#include <algorithm>
#include <bit>

#include <transforms/clouds/samplers/hilbert.hpp>
#include <transforms/clouds/samplers/radix_sort.hpp>

namespace penstock {
namespace {

// The curve's path through the eight octants of a cube depends on its entry corner (3 bits) and its exit axis (0 to 2).
// These are 24 states.
struct Turn {
  std::uint8_t digit;  // position of the octant along the curve, 0 to 7
  std::uint8_t state;  // state inside that octant
};
constexpr unsigned kStates = 24;

constexpr unsigned rotate_right(unsigned three, unsigned by) {
  return ((three >> by) | (three << (3 - by))) & 7;
}

constexpr unsigned rotate_left(unsigned three, unsigned by) {
  return rotate_right(three, (3 - by) % 3);
}

constexpr unsigned gray(unsigned i) {
  return i ^ (i >> 1);
}

constexpr unsigned gray_inverse(unsigned code) {
  return code ^ (code >> 1) ^ (code >> 2);
}

constexpr unsigned entry(unsigned digit) {
  return digit == 0 ? 0 : gray(2 * ((digit - 1) / 2));
}

constexpr unsigned direction(unsigned digit) {
  if (digit == 0) return 0;
  return static_cast<unsigned>(std::countr_one(digit % 2 == 0 ? digit - 1 : digit)) % 3;
}

constexpr Turn turn(unsigned state, unsigned octant) {
  const unsigned corner = state / 3, axis = state % 3;
  const unsigned digit = gray_inverse(rotate_right(octant ^ corner, (axis + 1) % 3));
  const unsigned next_corner = corner ^ rotate_left(entry(digit), (axis + 1) % 3);
  const unsigned next_axis = (axis + direction(digit) + 1) % 3;
  return {static_cast<std::uint8_t>(digit), static_cast<std::uint8_t>(next_corner * 3 + next_axis)};
}

// Two turns combined, for octants and digits of 6 bits, which halves the number of look-ups.
constexpr std::array<Turn, kStates * 64> turns() {
  std::array<Turn, kStates * 64> all{};
  for (unsigned state = 0; state < kStates; ++state)
    for (unsigned octants = 0; octants < 64; ++octants) {
      const Turn first = turn(state, octants >> 3), second = turn(first.state, octants & 7);
      all[state * 64 + octants] = {static_cast<std::uint8_t>(first.digit << 3 | second.digit), second.state};
    }
  return all;
}

constexpr std::array<Turn, kStates* 64> kTurns = turns();

// Spreads the 21 low bits: bit i moves to bit 3 * i.
std::uint64_t spread(std::uint64_t bits) {
  bits = (bits | bits << 32) & 0x001F00000000FFFFU;
  bits = (bits | bits << 16) & 0x001F0000FF0000FFU;
  bits = (bits | bits << 8) & 0x100F00F00F00F00FU;
  bits = (bits | bits << 4) & 0x10C30C30C30C30C3U;
  return (bits | bits << 2) & 0x1249249249249249U;
}

}  // namespace

std::uint64_t hilbert_place(std::array<std::uint32_t, 3> cell, unsigned bits) {
  const std::uint64_t octants = spread(cell[0]) | spread(cell[1]) << 1 | spread(cell[2]) << 2;
  Turn last = bits % 2 == 1 ? turn(0, octants >> (3 * bits - 3) & 7) : Turn{0, 0};
  std::uint64_t place = last.digit;
  for (unsigned left = bits / 2; left-- > 0;) {
    last = kTurns[last.state * 64 + (octants >> (6 * left) & 63)];
    place = place << 6 | last.digit;
  }
  return place;
}

void along_hilbert(const PointColumns& cloud, const PointBounds& bounds, unsigned bits, std::vector<CurvePoint>& points,
                   std::vector<CurvePoint>& spare) {
  const std::uint32_t cells = std::uint32_t{1} << bits;
  const double widest = bounds.widest(), scale = widest > 0 ? cells / widest : 0;
  const auto cell = [&](float value, float low) {
    const double place = (static_cast<double>(value) - static_cast<double>(low)) * scale;
    return std::min(static_cast<std::uint32_t>(place), cells - 1);  // rounding may give `cells`
  };
  points.resize(cloud.count);
  for (std::size_t i = 0; i < cloud.count; ++i) {
    const std::array<std::uint32_t, 3> at = {cell(cloud.x[i], bounds.low[0]), cell(cloud.y[i], bounds.low[1]),
                                             cell(cloud.z[i], bounds.low[2])};
    points[i] = {hilbert_place(at, bits), static_cast<std::uint32_t>(i)};
  }
  radix_sort<11>(points, spare, 3 * bits, [](const CurvePoint& point) { return point.place; });
}

}  // namespace penstock
