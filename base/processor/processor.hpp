// Detects the extensions of x86-64 and Arm that this process may use.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace penstock {

/// A flag is true if a function compiled for the target of that name may run. The processor then has the extension and
/// all that compilers add to it, and the kernel saves the registers. Flags of another architecture are false.
struct Processor {
  bool sse42 = false, pclmul = false;
  bool avx = false, vpclmulqdq = false;  ///< registers of 32 bytes: vpclmulqdq does not imply AVX-512
  bool avx512f = false, avx512bw = false, avx512vl = false;
  bool arm_crc32 = false;  ///< part of every Armv8.1 processor
  friend bool operator==(const Processor&, const Processor&) = default;
};

struct CpuidRegisters {
  std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

/// A processor and its kernel. Tests describe others than this machine's.
class CpuidSource {
 public:
  virtual ~CpuidSource() = default;
  /// Sub-leaf 0 of a basic leaf. The values of a leaf beyond the highest one have no meaning.
  virtual CpuidRegisters cpuid(std::uint32_t leaf) const = 0;
  /// The low half of XCR0. Called only if CPUID reports OSXSAVE, because the instruction faults otherwise.
  virtual std::uint32_t xcr0() const = 0;
};

/// Source: Intel SDM volume 2A, CPUID; volume 1, 13.3, 14.3 and 15.2.
Processor processor_from(const CpuidSource& source);

/// SIMD extensions, in ascending order.
enum class SimdLevel { scalar, sse4, avx2, avx512 };

std::optional<SimdLevel> simd_level(std::string_view name);
/// The highest level that PENSTOCK_SIMD allows to penstock's own code; avx512 if the variable is unset or wrong. Reads
/// the variable once, when the library is loaded.
SimdLevel simd_limit();

/// Removes the extensions above `limit`.
Processor limited(Processor found, SimdLevel limit);

/// Describes this machine, within simd_limit(). Executes CPUID, because not every compiler's library has
/// __builtin_cpu_supports.
const Processor& processor();

}  // namespace penstock
