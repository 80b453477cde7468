// What of x86-64's extensions this machine has.
#pragma once

namespace penstock {

/// False where the processor or the kernel does without, and on other processors. Asked by the instruction itself,
/// since not every compiler's library has __builtin_cpu_supports. Source: Intel SDM volume 2A, CPUID; volume 1, 13.3
/// and 14.3.
struct Processor {
  bool sse42 = false, pclmul = false;
  bool avx512f = false, avx512bw = false, avx512vl = false, vpclmulqdq = false;
};

/// Of this machine.
const Processor& processor();

}  // namespace penstock
