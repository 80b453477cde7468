#include <penstock/base/processor/processor.hpp>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace penstock {
namespace {

#if defined(__x86_64__)
constexpr bool has(unsigned word, int bit) {
  return (word >> bit & 1) != 0;
}

/// Whether the kernel keeps the masks and all of the 32 registers of 64 bytes for each thread: bits 1, 2 and 5 to 7 of
/// XCR0.
bool keeps_wide_registers() {
  constexpr unsigned kKept = 0xE6;
  unsigned low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & kKept) == kKept;
}
#endif

Processor ask() {
  Processor found;
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return found;
  found.sse42 = has(c, 20);
  found.pclmul = has(c, 1);
  if (!has(c, 27) || !keeps_wide_registers() || __get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return found;
  found.avx512f = has(b, 16);
  found.avx512bw = has(b, 30);
  found.avx512vl = has(b, 31);
  found.vpclmulqdq = has(c, 10);
#endif
  return found;
}

}  // namespace

const Processor& processor() {
  static const Processor found = ask();
  return found;
}

}  // namespace penstock
