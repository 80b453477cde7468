#include <array>
#include <cstdlib>

#include <base/processor/processor.hpp>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace penstock {
namespace {

constexpr std::uint32_t bits(auto... numbers) {
  return (0U | ... | (std::uint32_t{1} << numbers));
}

constexpr bool has_all(std::uint32_t word, std::uint32_t wanted) {
  return (word & wanted) == wanted;
}

// Leaf 1, ECX: SSE3, SSSE3, SSE4.1, SSE4.2 and POPCNT; FMA and F16C; OSXSAVE and AVX.
constexpr std::uint32_t kSse42 = bits(0, 9, 19, 20, 23), kPclmul = bits(1), kFmaAndF16c = bits(12, 29);
constexpr std::uint32_t kOsxsave = bits(27), kAvx = bits(28);
// Leaf 7, EBX and ECX.
constexpr std::uint32_t kAvx2 = bits(5), kAvx512f = bits(16), kAvx512bw = bits(30), kAvx512vl = bits(31);
constexpr std::uint32_t kVpclmulqdq = bits(10);
// XCR0: the registers of 16 and of 32 bytes; also the masks and all 32 registers of 64 bytes.
constexpr std::uint32_t kSavesAvx = bits(1, 2), kSavesAvx512 = kSavesAvx | bits(5, 6, 7);

#if defined(__x86_64__)
class ThisMachine final : public CpuidSource {
 public:
  CpuidRegisters cpuid(std::uint32_t leaf) const override {
    CpuidRegisters found;
    __cpuid_count(leaf, 0, found.eax, found.ebx, found.ecx, found.edx);
    return found;
  }
  std::uint32_t xcr0() const override {
    std::uint32_t low = 0, high = 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
  }
};

Processor of_this_machine() {
  return processor_from(ThisMachine{});
}
#elif defined(__aarch64__)
Processor of_this_machine() {
  return {.arm_crc32 = (::getauxval(AT_HWCAP) & HWCAP_CRC32) != 0};
}
#else
Processor of_this_machine() {
  return {};
}
#endif

}  // namespace

Processor processor_from(const CpuidSource& source) {
  Processor found;
  const std::uint32_t highest = source.cpuid(0).eax;
  if (highest < 1) return found;
  const std::uint32_t features = source.cpuid(1).ecx;
  found.sse42 = has_all(features, kSse42);
  found.pclmul = has_all(features, kPclmul);

  const std::uint32_t saved = has_all(features, kOsxsave) ? source.xcr0() : 0;
  found.avx = found.sse42 && has_all(features, kAvx) && has_all(saved, kSavesAvx);
  if (!found.avx || highest < 7) return found;
  const CpuidRegisters more = source.cpuid(7);
  found.vpclmulqdq = found.pclmul && has_all(more.ecx, kVpclmulqdq);

  found.avx512f = has_all(saved, kSavesAvx512) && has_all(features, kFmaAndF16c) && has_all(more.ebx, kAvx2 | kAvx512f);
  found.avx512bw = found.avx512f && has_all(more.ebx, kAvx512bw);
  found.avx512vl = found.avx512f && has_all(more.ebx, kAvx512vl);
  return found;
}

std::optional<SimdLevel> simd_level(std::string_view name) {
  constexpr std::array<std::string_view, 4> kNames{"scalar", "sse4", "avx2", "avx512"};
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<SimdLevel>(i);
  return std::nullopt;
}

SimdLevel simd_limit() {
  static const SimdLevel limit = [] {
    const char* name = std::getenv("PENSTOCK_SIMD");
    return simd_level(name != nullptr ? name : "").value_or(SimdLevel::avx512);
  }();
  return limit;
}

Processor limited(Processor found, SimdLevel limit) {
  if (limit < SimdLevel::avx512) found.avx512f = found.avx512bw = found.avx512vl = false;
  if (limit < SimdLevel::avx2) found.avx = found.vpclmulqdq = false;
  if (limit < SimdLevel::sse4) found.sse42 = found.pclmul = found.arm_crc32 = false;
  return found;
}

const Processor& processor() {
  static const Processor found = limited(of_this_machine(), simd_limit());
  return found;
}

}  // namespace penstock
