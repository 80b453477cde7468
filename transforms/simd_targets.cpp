// Keeps Highway from targets whose registers the kernel does not save.
#include <hwy/targets.h>

#include <base/processor/processor.hpp>

namespace penstock {
namespace {

// Highway 1.0.3 reads XCR0 only if CPUID reports OSXSAVE. If Linux was booted with `noxsave`, it would choose AVX2, and
// the first kernel would crash. This runs when the library is loaded, before any target is chosen.
[[maybe_unused]] const bool targets_are_safe = [] {
  if (!processor().avx) hwy::DisableTargets(HWY_AVX2 | HWY_AVX3 | HWY_AVX3_DL);
  return true;
}();

}  // namespace
}  // namespace penstock
