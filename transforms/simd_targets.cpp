#include <algorithm>
#include <cctype>
#include <cstdlib>

#include <hwy/targets.h>

#include <base/processor/processor.hpp>
#include <penstock/error.hpp>
#include <transforms/simd_targets.hpp>

namespace penstock {
namespace {

constexpr std::int64_t kAvx512 = HWY_AVX3 | HWY_AVX3_DL;

// Highway 1.0.3 reads XCR0 only if CPUID reports OSXSAVE. If Linux was booted with `noxsave`, it would choose AVX2, and
// the first kernel would crash. This runs when the library is loaded, before any target is chosen.
[[maybe_unused]] const bool targets_are_safe = [] {
  std::int64_t disabled = 0;
  if (!processor().avx512f) disabled |= kAvx512;
  if (!processor().avx) disabled |= kAvx512 | HWY_AVX2;
  if (simd_limit() == SimdLevel::scalar) disabled = ~std::int64_t{HWY_EMU128};
  hwy::DisableTargets(disabled);
  return true;
}();

}  // namespace

std::string simd_text() {
  const std::int64_t targets = hwy::SupportedTargets();
  const std::int64_t best = targets & -targets;  // Highway numbers the targets of a processor from the best one
  std::string text = hwy::TargetName(best);
  if ((best & kAvx512) != 0) text = "avx512";
  if ((best & HWY_EMU128) != 0) text = "scalar";
  std::ranges::transform(text, text.begin(), [](unsigned char letter) { return std::tolower(letter); });
  return simd_limit() < SimdLevel::avx512 ? text + " (limited by PENSTOCK_SIMD)" : text;
}

void require_known_simd_limit() {
  const char* name = std::getenv("PENSTOCK_SIMD");
  if (name == nullptr || *name == '\0' || simd_level(name)) return;
  throw Error::invalid_argument("PENSTOCK_SIMD is '" + std::string(name) +
                                "'; set it to scalar, sse4, avx2 or avx512, or unset it");
}

}  // namespace penstock
