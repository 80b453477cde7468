// Highway compiles this file once for each SIMD level. transforms/image/kernels/pixel_rows.cpp explains its portable
// level.
#ifndef HWY_BROKEN_EMU128
#define HWY_BROKEN_EMU128 0
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "order/permutation/permutation_rounds.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <order/permutation/permutation_rounds.hpp>

HWY_BEFORE_NAMESPACE();
namespace penstock::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Lanes = hn::CappedTag<std::uint64_t, kRoundLanes>;
using V = hn::Vec<Lanes>;

HWY_INLINE V mixed(V x) {
  x = hn::Mul(hn::Xor(x, hn::ShiftRight<30>(x)), hn::Set(Lanes(), kMixFirst));
  x = hn::Mul(hn::Xor(x, hn::ShiftRight<27>(x)), hn::Set(Lanes(), kMixSecond));
  return hn::Xor(x, hn::ShiftRight<31>(x));
}

void run_rounds(const FeistelNetwork& network, std::span<std::uint64_t> values) {
  const Lanes d;
  const V mask = hn::Set(d, network.mask());
  const int half = static_cast<int>(network.half_bits);
  for (std::size_t i = 0; i < values.size(); i += hn::Lanes(d)) {
    const V value = hn::LoadU(d, values.data() + i);
    V left = hn::ShiftRightSame(value, half), right = hn::And(value, mask);
    for (const std::uint64_t key : network.keys) {
      const V next = hn::Xor(left, hn::And(mixed(hn::Add(right, hn::Set(d, key))), mask));
      left = right;
      right = next;
    }
    hn::StoreU(hn::Or(hn::ShiftLeftSame(left, half), right), d, values.data() + i);
  }
}

}  // namespace
}  // namespace penstock::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace penstock {

HWY_EXPORT(run_rounds);

void run_rounds(const FeistelNetwork& network, std::span<std::uint64_t> values) {
  HWY_DYNAMIC_DISPATCH(run_rounds)(network, values);
}

}  // namespace penstock
#endif  // HWY_ONCE
