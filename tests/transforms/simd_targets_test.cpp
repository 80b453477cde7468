#include <cstdint>

#include <doctest/doctest.h>
#include <hwy/targets.h>

#include <base/processor/processor.hpp>

namespace penstock::test::simd_targets_test {

TEST_CASE("Highway chooses no target that this process may not use") {
  std::int64_t allowed = HWY_EMU128 | HWY_SCALAR | HWY_SSSE3;
  const Processor& has = processor();
  if (has.sse42 && has.pclmul) allowed |= HWY_SSE4;
  if (has.avx) allowed |= HWY_AVX2;
  if (has.avx512f && has.avx512bw && has.avx512vl) allowed |= HWY_AVX3;
  if ((allowed & HWY_AVX3) != 0 && has.vpclmulqdq) allowed |= HWY_AVX3_DL;
#if defined(__x86_64__)
  CHECK((hwy::SupportedTargets() & ~allowed) == 0);
#endif
}

}  // namespace penstock::test::simd_targets_test
