// Prints which extensions for computing CPUID and XCR0 report: programs run the same code on processors of one output.
// Used by tests/processors.sh.
#include <cpuid.h>
#include <stdio.h>

#define BIT(number) (1U << (number))

int main(void) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  __get_cpuid(1, &a, &b, &c, &d);
  const int has_xcr0 = (c & BIT(27)) != 0;
  // SSE3, PCLMULQDQ, SSSE3, FMA, CMPXCHG16B, SSE4.1, SSE4.2, MOVBE, POPCNT, AES, OSXSAVE, AVX, F16C; SSE, SSE2
  printf("%x %x ",
         c & (BIT(0) | BIT(1) | BIT(9) | BIT(12) | BIT(13) | BIT(19) | BIT(20) | BIT(22) | BIT(23) | BIT(25) | BIT(27) |
              BIT(28) | BIT(29)),
         d & (BIT(25) | BIT(26)));
  a = b = c = d = 0;
  __get_cpuid_count(7, 0, &a, &b, &c, &d);
  // BMI1, AVX2, BMI2, ADX, SHA, and the parts of AVX-512; those of AVX-512, GFNI, VAES and VPCLMULQDQ
  printf("%x %x ",
         b & (BIT(3) | BIT(5) | BIT(8) | BIT(16) | BIT(17) | BIT(19) | BIT(21) | BIT(28) | BIT(29) | BIT(30) | BIT(31)),
         c & (BIT(1) | BIT(6) | BIT(8) | BIT(9) | BIT(10) | BIT(11) | BIT(12) | BIT(14)));
  a = b = c = d = 0;
  __get_cpuid(0x80000001, &a, &b, &c, &d);
  printf("%x ", c & (BIT(5) | BIT(6) | BIT(11) | BIT(16) | BIT(21)));  // LZCNT, SSE4A, XOP, FMA4, TBM
  unsigned low = 0, high = 0;
  if (has_xcr0) __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  printf("%x\n", low & 0xE6);  // SSE, AVX and AVX-512
  return 0;
}
