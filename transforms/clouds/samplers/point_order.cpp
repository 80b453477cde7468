#include <bit>
#include <limits>
#include <string>
#include <utility>

#include <penstock/error.hpp>
#include <transforms/clouds/samplers/hilbert.hpp>
#include <transforms/clouds/samplers/point_order.hpp>

namespace penstock {
namespace {

constexpr unsigned kCurveBits = 21;

std::uint64_t reversed(std::uint64_t number, unsigned bits) {
  std::uint64_t out = 0;
  for (unsigned bit = 0; bit < bits; ++bit) out |= (number >> bit & 1) << (bits - 1 - bit);
  return out;
}

}  // namespace

std::vector<std::uint32_t> random_order(std::uint64_t points, Random& random) {
  if (points > std::numeric_limits<std::uint32_t>::max())
    throw Error::unsupported("a cloud of " + std::to_string(points) +
                             " points is too large, because point numbers have 32 bits");
  std::vector<std::uint32_t> order(points);
  for (std::uint64_t i = 0; i < points; ++i) order[i] = static_cast<std::uint32_t>(i);
  for (std::uint64_t i = points; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

std::vector<std::uint32_t> stratified_order(const PointColumns& cloud, Random& random) {
  std::vector<CurvePoint> curve, spare;
  along_hilbert(cloud, bounds_of(cloud), kCurveBits, curve, spare);
  std::vector<std::uint32_t> order;
  if (curve.empty()) return order;
  order.reserve(curve.size());
  const unsigned bits = static_cast<unsigned>(std::bit_width(curve.size() - 1));
  const std::uint64_t all = std::uint64_t{1} << bits, start = random.below(all);
  for (std::uint64_t i = 0; i < all; ++i) {
    const std::uint64_t rank = reversed((start + i) % all, bits);
    if (rank < curve.size()) order.push_back(curve[rank].number);
  }
  return order;
}

}  // namespace penstock
