// Detects the extensions of x86-64 that this process may use.
#pragma once

#include <cstdint>

namespace penstock {

/// A flag is true if a function compiled for the target of that name may run. The processor then has the extension and
/// all that compilers add to it, and the kernel saves the registers. All are false on other architectures.
struct Processor {
  bool sse42 = false, pclmul = false;
  bool avx = false, vpclmulqdq = false;  ///< registers of 32 bytes: vpclmulqdq does not imply AVX-512
  bool avx512f = false, avx512bw = false, avx512vl = false;
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

/// Describes this machine. Executes CPUID, because not every compiler's library has __builtin_cpu_supports.
const Processor& processor();

}  // namespace penstock
