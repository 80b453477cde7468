// Keeps Highway from targets whose registers the kernel does not save.
#include <hwy/targets.h>

#include <penstock/base/processor/processor.hpp>

namespace penstock {
namespace {

// Highway 1.0.3 reads XCR0 only if CPUID reports OSXSAVE. Without it (Linux booted with `noxsave`, some hypervisors) it
// would choose AVX2, whose instructions then fault. No target may be chosen before this has run, so it runs when the
// library is loaded.
[[maybe_unused]] const bool targets_are_safe = [] {
  if (!processor().avx) hwy::DisableTargets(HWY_AVX2 | HWY_AVX3 | HWY_AVX3_DL);
  return true;
}();

}  // namespace
}  // namespace penstock
