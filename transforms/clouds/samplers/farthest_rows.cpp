// Highway compiles this file once for each SIMD level.
//
// By default, Highway omits its portable level for GCC before 12.3, which miscompiles MulHigh (GCC bug 106322). This
// file does not use MulHigh, and sample_fps_test checks the portable level like the others.
#ifndef HWY_BROKEN_EMU128
#define HWY_BROKEN_EMU128 0
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "transforms/clouds/samplers/farthest_rows.cpp"
#include <bit>

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <transforms/clouds/samplers/farthest_rows.hpp>

HWY_BEFORE_NAMESPACE();
namespace penstock::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, FarthestView::kFan>;
using Numbers = hn::RebindToUnsigned<Floats>;
using F = hn::Vec<Floats>;

struct Sample {
  F x, y, z;
};

/// Multiplies and adds without fused operations, so that all levels round alike.
HWY_INLINE F square_sum(F dx, F dy, F dz) {
  return hn::Add(hn::Add(hn::Mul(dx, dx), hn::Mul(dy, dy)), hn::Mul(dz, dz));
}

/// Returns the distance of a sample from an interval, 0 inside it.
HWY_INLINE F outside(F sample, const float* low, const float* high) {
  const Floats d;
  const F below = hn::Sub(hn::LoadU(d, low), sample), above = hn::Sub(sample, hn::LoadU(d, high));
  return hn::Max(hn::Max(below, above), hn::Zero(d));
}

/// Returns the greatest of kCount distances and the lowest number that has it.
template <std::size_t kCount>
HWY_INLINE Farthest farthest_of(const float* distances, const std::uint32_t* numbers) {
  const Floats d;
  const Numbers dn;
  F most = hn::LoadU(d, distances);
  for (std::size_t i = hn::Lanes(d); i < kCount; i += hn::Lanes(d)) most = hn::Max(most, hn::LoadU(d, distances + i));
  most = hn::MaxOfLanes(d, most);
  const auto none = hn::Set(dn, ~std::uint32_t{0});
  auto lowest = none;
  for (std::size_t i = 0; i < kCount; i += hn::Lanes(d)) {
    const auto as_far = hn::RebindMask(dn, hn::Eq(hn::LoadU(d, distances + i), most));
    lowest = hn::Min(lowest, hn::IfThenElse(as_far, hn::LoadU(dn, numbers + i), none));
  }
  return {hn::GetLane(most), hn::GetLane(hn::MinOfLanes(dn, lowest))};
}

Farthest look_into_bucket(const FarthestView& tree, std::size_t bucket, const Sample& sample) {
  const Floats d;
  const std::size_t begin = bucket * FarthestView::kBucket;
  for (std::size_t i = begin; i < begin + FarthestView::kBucket; i += hn::Lanes(d)) {
    const F distance =
        square_sum(hn::Sub(hn::LoadU(d, tree.x + i), sample.x), hn::Sub(hn::LoadU(d, tree.y + i), sample.y),
                   hn::Sub(hn::LoadU(d, tree.z + i), sample.z));
    hn::StoreU(hn::Min(distance, hn::LoadU(d, tree.distance + i)), d, tree.distance + i);
  }
  return farthest_of<FarthestView::kBucket>(tree.distance + begin, tree.number + begin);
}

/// Returns a mask. Bit i is set if node first + i may contain a point that is nearer to the sample than to all earlier
/// ones.
HWY_INLINE std::uint32_t nodes_to_enter(const FarthestLevel& level, std::size_t first, const Sample& sample) {
  const Floats d;
  std::uint32_t nodes = 0;
  for (std::size_t i = 0; i < FarthestView::kFan; i += hn::Lanes(d)) {
    const std::size_t at = first + i;
    const F distance = square_sum(outside(sample.x, level.low_x + at, level.high_x + at),
                                  outside(sample.y, level.low_y + at, level.high_y + at),
                                  outside(sample.z, level.low_z + at, level.high_z + at));
    std::uint8_t bits[8] = {};
    hn::StoreMaskBits(d, hn::Lt(distance, hn::LoadU(d, level.distance + at)), bits);
    nodes |= (bits[0] | std::uint32_t{bits[1]} << 8) << i;
  }
  return nodes;
}

/// Updates those of the kFan nodes from `first` on that the sample may affect. Returns the farthest point of all kFan
/// nodes.
Farthest look_into_nodes(const FarthestView& tree, std::size_t height, std::size_t first, const Sample& sample) {
  const FarthestLevel& level = tree.levels[height];
  for (std::uint32_t nodes = nodes_to_enter(level, first, sample); nodes != 0; nodes &= nodes - 1) {
    const std::size_t node = first + static_cast<std::size_t>(std::countr_zero(nodes));
    const Farthest farthest = height == 0 ? look_into_bucket(tree, node, sample)
                                          : look_into_nodes(tree, height - 1, node * FarthestView::kFan, sample);
    level.distance[node] = farthest.distance;
    level.number[node] = farthest.number;
  }
  return farthest_of<FarthestView::kFan>(level.distance + first, level.number + first);
}

Farthest add_sample(const FarthestView& tree, float x, float y, float z) {
  const Floats d;
  return look_into_nodes(tree, tree.height - 1, 0, {hn::Set(d, x), hn::Set(d, y), hn::Set(d, z)});
}

}  // namespace
}  // namespace penstock::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace penstock {

HWY_EXPORT(add_sample);

Farthest add_sample(const FarthestView& tree, float x, float y, float z) {
  return HWY_DYNAMIC_DISPATCH(add_sample)(tree, x, y, z);
}

}  // namespace penstock
#endif  // HWY_ONCE
