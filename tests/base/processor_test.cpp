#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <base/error_number.hpp>
#include <base/processor/processor.hpp>

#include "support/skip.hpp"

namespace penstock::test::processor_test {
namespace {

/// What processor_from() reads of a processor.
struct Model {
  const char* name;
  std::uint32_t highest;  ///< CPUID 0, EAX
  std::uint32_t ecx1;     ///< CPUID 1, ECX
  std::uint32_t ebx7, ecx7;
};

// Source: github.com/InstLatx64/InstLatx64, the files Genuine... and Authentic... of the signature in the comment.
constexpr Model kConroe{"Conroe", 0xA, 0x0000E3BD, 0, 0};                                          // 00006F6
constexpr Model kBarcelona{"K10 (Barcelona)", 0x5, 0x00802009, 0, 0};                              // 0100F2A
constexpr Model kNehalem{"Nehalem-EP", 0xB, 0x00BCE3BD, 0, 0};                                     // 00106A2
constexpr Model kWestmere{"Westmere (Gulftown)", 0xB, 0x029AE3BF, 0, 0};                           // 00206C2
constexpr Model kSandyBridge{"Sandy Bridge-EP", 0xD, 0x1FBEE3FF, 0, 0};                            // 00206D5
constexpr Model kBulldozer{"Bulldozer (Interlagos)", 0xD, 0x1E98220B, 0, 0};                       // 0600F12
constexpr Model kPiledriver{"Piledriver (Abu Dhabi)", 0xD, 0x3E98320B, 0x00000008, 0};             // 0600F20
constexpr Model kHaswell{"Haswell-EP", 0xF, 0x7DFEFBFF, 0x00003FBB, 0};                            // 00306F2
constexpr Model kBroadwell{"Broadwell-E", 0x14, 0x7FFEFBBF, 0x021CBFBB, 0};                        // 00406F1
constexpr Model kSkylake{"Skylake", 0x16, 0x7FFAFBFF, 0x029C67AF, 0};                              // 00506E3
constexpr Model kZen1{"Zen", 0xD, 0x7ED8320B, 0x209C01A9, 0};                                      // 0800F12
constexpr Model kZen2{"Zen 2 (Rome)", 0x10, 0x7EF8320B, 0x219C91A9, 0x00400004};                   // 0830F10
constexpr Model kZen3{"Zen 3 (Milan)", 0x10, 0x7EDA320B, 0x219C97A9, 0x0040068C};                  // 0A00F11
constexpr Model kAlderLake{"Alder Lake", 0x20, 0x7FFAFBFF, 0x239CA7EB, 0x98C027AC};                // 0090672
constexpr Model kSkylakeSp{"Skylake-SP", 0x16, 0x7FFEFBFF, 0xD39FFFFB, 0x00000008};                // 0050654
constexpr Model kCascadeLake{"Cascade Lake", 0x16, 0x7FFEFBFF, 0xD39FFFFB, 0x00000808};            // 0050657
constexpr Model kIceLakeSp{"Ice Lake-SP", 0x1B, 0x7FFEFBFF, 0xF3BFBFFF, 0x40417F4E};               // 00606A6
constexpr Model kEarlyAlderLake{"Alder Lake, P cores", 0x20, 0x7FFAFBFF, 0xF3BFA7EB, 0x98C07FEE};  // 0090672
constexpr Model kSapphireRapids{"Sapphire Rapids", 0x20, 0x7FFEFBFF, 0xF3BFBFFB, 0xBB417FEE};      // 00806F8
constexpr Model kGraniteRapids{"Granite Rapids", 0x24, 0x7FFEFBFF, 0xF3BFBFFB, 0xBB417FEE};        // 00A06D1
constexpr Model kZen4{"Zen 4 (Genoa)", 0x10, 0x7EFA320B, 0xF1BF97A9, 0x00415FCE};                  // 0A10F11
constexpr Model kZen5{"Zen 5 (Turin)", 0x10, 0x7EFA320B, 0xF1BF97AB, 0x19415FCE};                  // 0B00F21

const std::vector<Model> kOldest{kConroe, kBarcelona};  // SSE4.2 missing
const std::vector<Model> kWithAvx{kSandyBridge, kBulldozer, kPiledriver, kHaswell, kBroadwell, kSkylake, kZen1, kZen2};
const std::vector<Model> kWithVpclmulqdq{kZen3, kAlderLake};  // and without AVX-512
const std::vector<Model> kWithAvx512{kSkylakeSp, kCascadeLake};
const std::vector<Model> kWithAll{kIceLakeSp, kEarlyAlderLake, kSapphireRapids, kGraniteRapids, kZen4, kZen5};

constexpr std::uint32_t kOsxsave = 1U << 27;
constexpr std::uint32_t kSse = 0x3, kAvx = 0x7, kAvx512 = 0xE7;  // XCR0, with the x87 registers

class Described final : public CpuidSource {
 public:
  Described(Model model, std::uint32_t xcr0) : model_(model), xcr0_(xcr0) {
    model_.ecx1 &= ~kOsxsave;
    if (xcr0 != 0) model_.ecx1 |= kOsxsave;
  }
  // An Intel processor answers for a leaf beyond the highest one with the values of another leaf.
  CpuidRegisters cpuid(std::uint32_t leaf) const override {
    if (leaf == 0) return {.eax = model_.highest};
    if (leaf > model_.highest) return {~0U, ~0U, ~0U, ~0U};
    if (leaf == 1) return {.ecx = model_.ecx1};
    REQUIRE(leaf == 7);
    return {.ebx = model_.ebx7, .ecx = model_.ecx7};
  }
  std::uint32_t xcr0() const override {
    REQUIRE((model_.ecx1 & kOsxsave) != 0);  // the instruction faults otherwise
    return xcr0_;
  }

 private:
  Model model_;
  std::uint32_t xcr0_;
};

Processor with(const Model& model, std::uint32_t xcr0) {
  return processor_from(Described(model, xcr0));
}

constexpr Processor kSse42Alone{.sse42 = true, .pclmul = true};
constexpr Processor kAvxToo{.sse42 = true, .pclmul = true, .avx = true};
constexpr Processor kVpclmulqdqToo{.sse42 = true, .pclmul = true, .avx = true, .vpclmulqdq = true};
constexpr Processor kAvx512Too{
    .sse42 = true, .pclmul = true, .avx = true, .avx512f = true, .avx512bw = true, .avx512vl = true};
constexpr Processor kEverything{.sse42 = true,
                                .pclmul = true,
                                .avx = true,
                                .vpclmulqdq = true,
                                .avx512f = true,
                                .avx512bw = true,
                                .avx512vl = true};

void check_all(const std::vector<Model>& models, std::uint32_t xcr0, const Processor& expected) {
  for (const Model& model : models) {
    CAPTURE(std::string(model.name));
    CAPTURE(xcr0);
    CHECK(with(model, xcr0) == expected);
  }
}

}  // namespace

TEST_CASE("processors of each generation have what their CPUID reports, under a kernel that saves all registers") {
  check_all(kOldest, 0, {});
  CHECK(with(kNehalem, 0) == Processor{.sse42 = true});
  CHECK(with(kWestmere, 0) == kSse42Alone);
  check_all(kWithAvx, kAvx, kAvxToo);
  check_all(kWithVpclmulqdq, kAvx, kVpclmulqdqToo);
  check_all(kWithAvx512, kAvx512, kAvx512Too);
  check_all(kWithAll, kAvx512, kEverything);
  check_all(kWithAll, 0x602E7, kEverything);  // AMX and protection keys too
}

TEST_CASE("a kernel that saves no AVX registers leaves only SSE, whether OSXSAVE is clear or XCR0 says so") {
  for (const auto& models : {kWithAvx, kWithVpclmulqdq, kWithAvx512, kWithAll}) {
    check_all(models, 0, kSse42Alone);
    check_all(models, kSse, kSse42Alone);
    check_all(models, 0x1, kSse42Alone);
    check_all(models, kAvx & ~0x2U, kSse42Alone);  // AVX without SSE
  }
}

TEST_CASE("a kernel that saves no AVX-512 registers leaves VPCLMULQDQ, and no part of AVX-512") {
  for (const std::uint32_t missing : {0xE0U, 0x20U, 0x40U, 0x80U}) {
    check_all(kWithAvx512, kAvx512 & ~missing, kAvxToo);
    check_all(kWithAll, kAvx512 & ~missing, kVpclmulqdqToo);
  }
}

TEST_CASE("a leaf beyond the highest one is not read") {
  Model limited = kZen4;
  limited.highest = 6;  // "Limit CPUID Maxval" of old BIOSes, and hypervisors
  CHECK(with(limited, kAvx512) == kAvxToo);
  limited.highest = 0;
  CHECK(with(limited, kAvx512) == Processor{});
}

TEST_CASE("a hypervisor that hides an extension hides all that compilers build on it") {
  struct Hidden {
    int ecx1_bit, ebx7_bit, ecx7_bit;
    Processor expected;
  };
  const Processor without_f = kVpclmulqdqToo;
  Processor without_bw = kEverything, without_vl = kEverything, without_pclmul = kEverything;
  without_bw.avx512bw = false;
  without_vl.avx512vl = false;
  without_pclmul.pclmul = without_pclmul.vpclmulqdq = false;
  const Processor without_sse42{.pclmul = true};
  for (const Hidden& hidden : std::vector<Hidden>{
           {0, -1, -1, without_sse42},   // SSE3
           {9, -1, -1, without_sse42},   // SSSE3
           {19, -1, -1, without_sse42},  // SSE4.1
           {20, -1, -1, without_sse42},
           {23, -1, -1, without_sse42},  // POPCNT
           {1, -1, -1, without_pclmul},
           {28, -1, -1, kSse42Alone},  // AVX
           {12, -1, -1, without_f},    // FMA
           {29, -1, -1, without_f},    // F16C
           {-1, 5, -1, without_f},     // AVX2
           {-1, 16, -1, without_f},
           {-1, 30, -1, without_bw},
           {-1, 31, -1, without_vl},
           {-1, -1, 10, kAvx512Too},
       }) {
    Model model = kZen4;
    if (hidden.ecx1_bit >= 0) model.ecx1 &= ~(1U << hidden.ecx1_bit);
    if (hidden.ebx7_bit >= 0) model.ebx7 &= ~(1U << hidden.ebx7_bit);
    if (hidden.ecx7_bit >= 0) model.ecx7 &= ~(1U << hidden.ecx7_bit);
    CAPTURE(hidden.ecx1_bit);
    CAPTURE(hidden.ebx7_bit);
    CAPTURE(hidden.ecx7_bit);
    CHECK(with(model, kAvx512) == hidden.expected);
  }
}

TEST_CASE("a limit removes the extensions above it") {
  CHECK(limited(kEverything, SimdLevel::avx512) == kEverything);
  CHECK(limited(kEverything, SimdLevel::avx2) == kVpclmulqdqToo);
  CHECK(limited(kEverything, SimdLevel::sse4) == kSse42Alone);
  CHECK(limited(kEverything, SimdLevel::scalar) == Processor{});
  CHECK(simd_level("avx2") == SimdLevel::avx2);
  CHECK(!simd_level("AVX2"));
  CHECK(!simd_level(""));
}

// Only in one direction: a hypervisor may show an extension without another that it builds on, which GCC's library does
// not mind, and not every version of that library reads the same bits of XCR0.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
TEST_CASE("this machine has nothing that GCC's library does not find") {
  if (__builtin_cpu_supports("sse2") == 0)
    return skip("GCC's library finds nothing on a processor of this vendor; use one of Intel or AMD");
  const Processor& has = processor();
  CHECK((!has.sse42 || __builtin_cpu_supports("sse4.2") != 0));
  CHECK((!has.pclmul || __builtin_cpu_supports("pclmul") != 0));
  CHECK((!has.avx || __builtin_cpu_supports("avx") != 0));
  CHECK((!has.vpclmulqdq || __builtin_cpu_supports("vpclmulqdq") != 0));
  CHECK((!has.avx512f || __builtin_cpu_supports("avx512f") != 0));
  CHECK((!has.avx512bw || __builtin_cpu_supports("avx512bw") != 0));
  CHECK((!has.avx512vl || __builtin_cpu_supports("avx512vl") != 0));
}
#endif

TEST_CASE("error numbers have their names, and those without one are numbers") {
  for (const int number : {EPERM, ENOENT, EIO, EAGAIN, ENOMEM, EACCES, EFAULT, EBUSY, EINVAL, ENFILE, EMFILE, ENOSPC,
                           ENOSYS, ENOPKG, EOPNOTSUPP}) {
    CAPTURE(number);
    CHECK(error_number_name(number) == strerrorname_np(number));
  }
  CHECK(error_number_name(4095) == "4095");
}

}  // namespace penstock::test::processor_test
