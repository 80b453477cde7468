#include <algorithm>
#include <array>
#include <cstring>

#include <base/processor/processor.hpp>
#include <formats/io/crc32c.hpp>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace penstock {
namespace {

constexpr std::uint32_t kPolynomial = 0x82F63B78;  // 0x1EDC6F41, bits reversed

using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

// tables[k][b]: the effect of byte b on the register after k more bytes.
constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (std::size_t byte = 0; byte < 256; ++byte) {
    for (std::size_t k = 1; k < 8; ++k) {
      const std::uint32_t previous = tables[k - 1][byte];
      tables[k][byte] = (previous >> 8) ^ tables[0][previous & 0xFF];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

std::uint32_t by_table(std::uint32_t crc, const std::byte* data, std::size_t size) {
  for (; size >= 8; data += 8, size -= 8) {
    std::uint32_t next = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      const auto byte = static_cast<std::uint32_t>(data[i]);
      const std::uint32_t index = i < 4 ? byte ^ ((crc >> (8 * i)) & 0xFF) : byte;
      next ^= kTables[7 - i][index];
    }
    crc = next;
  }
  for (; size != 0; ++data, --size) crc = (crc >> 8) ^ kTables[0][(crc ^ static_cast<std::uint32_t>(*data)) & 0xFF];
  return crc;
}

// Multiplies polynomials over GF(2) modulo the polynomial above. Registers hold them bit-reversed: the highest bit is
// the coefficient of x^0.
constexpr std::uint32_t multiplied(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (int bit = 31; bit >= 0; --bit) {
    product ^= b & (0U - ((a >> bit) & 1));
    b = (b >> 1) ^ (kPolynomial & (0U - (b & 1)));
  }
  return product;
}

// powers[k]: x^(8 * 2^k). A multiplication by it advances a register by 2^k bytes.
constexpr std::array<std::uint32_t, 64> make_powers() {
  std::array<std::uint32_t, 64> powers{};
  std::uint32_t power = 0x00800000;  // x^8
  for (std::uint32_t& next : powers) {
    next = power;
    power = multiplied(power, power);
  }
  return powers;
}

constexpr std::array<std::uint32_t, 64> kPowers = make_powers();

constexpr std::uint32_t power_of(std::uint64_t bytes) {
  std::uint32_t power = 0x80000000;  // 1
  for (std::size_t k = 0; bytes != 0; ++k, bytes >>= 1) {
    if ((bytes & 1) != 0) power = multiplied(kPowers[k], power);
  }
  return power;
}

#if defined(__x86_64__)
// Returns x^bits. power_of() is the same for whole bytes.
constexpr std::uint32_t power_of_bits(std::uint64_t bits) {
  return multiplied(power_of(bits / 8), 0x80000000U >> (bits % 8));
}

// Multiplies a register by a polynomial. The carry-less product of two bit-reversed registers is the product of their
// polynomials times x. The CRC instruction from 0 multiplies a word by x^32. Therefore callers pass a power that is 33
// bits smaller.
__attribute__((target("sse4.2,pclmul"))) std::uint32_t moved(std::uint32_t crc, std::uint32_t power) {
  const __m128i product =
      _mm_clmulepi64_si128(_mm_cvtsi32_si128(static_cast<int>(crc)), _mm_cvtsi32_si128(static_cast<int>(power)), 0x00);
  return static_cast<std::uint32_t>(_mm_crc32_u64(0, static_cast<std::uint64_t>(_mm_cvtsi128_si64(product))));
}

// Sums three runs of kRun bytes at a time: the instruction has a latency of three cycles, but one can start in each
// cycle.
template <std::size_t kRun>
__attribute__((target("sse4.2,pclmul"))) std::uint32_t by_threes(std::uint32_t crc, const std::byte*& data,
                                                                 std::size_t& size) {
  constexpr std::uint32_t kOneRun = power_of_bits(8 * kRun - 33), kTwoRuns = power_of_bits(16 * kRun - 33);
  for (; size >= 3 * kRun; data += 3 * kRun, size -= 3 * kRun) {
    std::uint64_t sums[3] = {crc, 0, 0};
    for (std::size_t at = 0; at < kRun; at += 8) {
      std::uint64_t words[3];
      for (std::size_t run = 0; run < 3; ++run) std::memcpy(&words[run], data + run * kRun + at, 8);
      for (std::size_t run = 0; run < 3; ++run) sums[run] = _mm_crc32_u64(sums[run], words[run]);
    }
    crc = moved(static_cast<std::uint32_t>(sums[0]), kTwoRuns) ^ moved(static_cast<std::uint32_t>(sums[1]), kOneRun) ^
          static_cast<std::uint32_t>(sums[2]);
  }
  return crc;
}

__attribute__((target("sse4.2"))) std::uint32_t by_words(std::uint32_t crc, const std::byte* data, std::size_t size) {
  std::uint64_t wide = crc;
  for (; size >= 8; data += 8, size -= 8) {
    std::uint64_t word;
    std::memcpy(&word, data, 8);
    wide = _mm_crc32_u64(wide, word);
  }
  crc = static_cast<std::uint32_t>(wide);
  for (; size != 0; ++data, --size) crc = _mm_crc32_u8(crc, static_cast<unsigned char>(*data));
  return crc;
}

__attribute__((target("sse4.2,pclmul"))) std::uint32_t by_instruction(std::uint32_t crc, const std::byte* data,
                                                                      std::size_t size) {
  crc = by_threes<4096>(crc, data, size);
  crc = by_threes<256>(crc, data, size);
  return by_words(crc, data, size);
}

// Folding, after Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction" (Intel,
// 2009). To advance 16 bytes by `bytes`, multiply their two words by these factors and add the products.
#define PENSTOCK_WIDE target("avx512f,avx512bw,avx512vl,vpclmulqdq,pclmul,sse4.2")

template <std::size_t kBytes>
__attribute__((PENSTOCK_WIDE)) inline __m128i fold_factors() {
  constexpr std::uint64_t kFirst = std::uint64_t{power_of_bits(8 * kBytes + 63)} << 32,
                          kSecond = std::uint64_t{power_of_bits(8 * kBytes - 1)} << 32;
  return _mm_set_epi64x(static_cast<long long>(kSecond), static_cast<long long>(kFirst));
}

__attribute__((PENSTOCK_WIDE)) inline __m512i folded(__m512i sum, __m512i factors, __m512i next) {
  return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(sum, factors, 0x00),
                                   _mm512_clmulepi64_epi128(sum, factors, 0x11), next, 0x96);
}

__attribute__((PENSTOCK_WIDE)) inline __m128i folded(__m128i sum, __m128i factors, __m128i next) {
  return _mm_ternarylogic_epi64(_mm_clmulepi64_si128(sum, factors, 0x00), _mm_clmulepi64_si128(sum, factors, 0x11),
                                next, 0x96);
}

// The masked forms with all bits set avoid a false warning of GCC 12 that results of the plain forms may be
// uninitialized.
__attribute__((PENSTOCK_WIDE)) inline __m512i in_all_quarters(__m128i value) {
  return _mm512_maskz_broadcast_i32x4(0xFFFF, value);
}
template <int kNumber>
__attribute__((PENSTOCK_WIDE)) inline __m128i quarter_of(__m512i value) {
  return _mm512_maskz_extracti32x4_epi32(0xF, value, kNumber);
}

constexpr std::size_t kFetchedAhead = 2048;  // for copies, whose source is not in any cache

// Each of four sums takes every fourth line of 64 bytes. With kCopies, `to` is a multiple of 64, and the bytes are
// stored there past the caches. The sum covers the stored bytes, even if another process changes the source meanwhile.
template <bool kCopies>
__attribute__((PENSTOCK_WIDE)) std::uint32_t by_folding(std::uint32_t crc, const std::byte*& data, std::size_t& size,
                                                        std::byte* to) {
  const __m512i by_four = in_all_quarters(fold_factors<256>());
  __m512i sums[4];
  for (std::size_t i = 0; i < 4; ++i) {
    sums[i] = _mm512_loadu_si512(data + 64 * i);
    if constexpr (kCopies) _mm512_stream_si512(reinterpret_cast<__m512i*>(to + 64 * i), sums[i]);
  }
  sums[0] = _mm512_xor_si512(sums[0], _mm512_zextsi128_si512(_mm_cvtsi32_si128(static_cast<int>(crc))));
  data += 256;
  size -= 256;
  if constexpr (kCopies) to += 256;
  for (; size >= 256; data += 256, size -= 256) {
    for (std::size_t i = 0; i < 4; ++i) {
      if constexpr (kCopies) _mm_prefetch(data + kFetchedAhead + 64 * i, _MM_HINT_T0);
      const __m512i next = _mm512_loadu_si512(data + 64 * i);
      if constexpr (kCopies) _mm512_stream_si512(reinterpret_cast<__m512i*>(to + 64 * i), next);
      sums[i] = folded(sums[i], by_four, next);
    }
    if constexpr (kCopies) to += 256;
  }
  const __m512i by_one = in_all_quarters(fold_factors<64>());
  for (std::size_t i = 0; i < 3; ++i) sums[i + 1] = folded(sums[i], by_one, sums[i + 1]);
  const __m128i quarter = fold_factors<16>();
  __m128i sum = quarter_of<0>(sums[3]);
  sum = folded(sum, quarter, quarter_of<1>(sums[3]));
  sum = folded(sum, quarter, quarter_of<2>(sums[3]));
  sum = folded(sum, quarter, quarter_of<3>(sums[3]));
  const std::uint64_t first = _mm_crc32_u64(0, static_cast<std::uint64_t>(_mm_cvtsi128_si64(sum)));
  return static_cast<std::uint32_t>(_mm_crc32_u64(first, static_cast<std::uint64_t>(_mm_extract_epi64(sum, 1))));
}

constexpr std::size_t kWide = 512;  // from this size on, folding is faster

bool can_fold() {
  const Processor& has = processor();
  return has.avx512f && has.avx512bw && has.avx512vl && has.vpclmulqdq && has.pclmul && has.sse42;
}

bool has_instruction() {
  return processor().sse42 && processor().pclmul;
}

__attribute__((PENSTOCK_WIDE)) std::uint32_t wide(std::uint32_t crc, const std::byte* data, std::size_t size) {
  if (size >= kWide) crc = by_folding<false>(crc, data, size, nullptr);
  return by_instruction(crc, data, size);
}

__attribute__((PENSTOCK_WIDE)) std::uint32_t wide_copy(std::uint32_t crc, std::byte* to, const std::byte* data,
                                                       std::size_t size) {
  const std::size_t head = (64 - reinterpret_cast<std::uintptr_t>(to) % 64) % 64;
  std::memcpy(to, data, head);
  crc = by_words(crc, to, head);
  to += head;
  data += head;
  size -= head;
  const std::byte* const folded_from = data;
  crc = by_folding<true>(crc, data, size, to);
  _mm_sfence();
  to += data - folded_from;
  std::memcpy(to, data, size);
  return by_words(crc, to, size);
}
#undef PENSTOCK_WIDE
#endif

#if defined(__aarch64__)
bool has_instruction() {
  return processor().arm_crc32;
}

// In assembly, because compilers disagree about how a function names this extension.
std::uint32_t by_instruction(std::uint32_t crc, const std::byte* data, std::size_t size) {
  for (; size >= 8; data += 8, size -= 8) {
    std::uint64_t word;
    std::memcpy(&word, data, 8);
    __asm__(".arch_extension crc\n\tcrc32cx %w0, %w0, %x1" : "+r"(crc) : "r"(word));
  }
  for (; size != 0; ++data, --size)
    __asm__(".arch_extension crc\n\tcrc32cb %w0, %w0, %w1" : "+r"(crc) : "r"(static_cast<std::uint32_t>(*data)));
  return crc;
}
#endif

}  // namespace

std::uint32_t crc32c_portable(std::span<const std::byte> bytes, std::uint32_t crc) {
  return ~by_table(~crc, bytes.data(), bytes.size());
}

std::uint32_t crc32c_by_instruction(std::span<const std::byte> bytes, std::uint32_t crc) {
#if defined(__x86_64__) || defined(__aarch64__)
  if (has_instruction()) return ~by_instruction(~crc, bytes.data(), bytes.size());
#endif
  return crc32c_portable(bytes, crc);
}

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t crc) {
#if defined(__x86_64__)
  if (bytes.size() >= kWide && can_fold()) return ~wide(~crc, bytes.data(), bytes.size());
#endif
  return crc32c_by_instruction(bytes, crc);
}

std::uint32_t copy_with_crc32c(std::byte* to, std::span<const std::byte> bytes) {
#if defined(__x86_64__)
  if (bytes.size() >= 2 * kWide && can_fold()) return ~wide_copy(~0U, to, bytes.data(), bytes.size());
#endif
  constexpr std::size_t kPart = 16 << 10;  // small enough that a part is still in the L1 cache when it is summed
  std::uint32_t crc = 0;
  for (std::size_t at = 0; at < bytes.size(); at += kPart) {
    const std::span<const std::byte> part = bytes.subspan(at, std::min(kPart, bytes.size() - at));
    std::memcpy(to + at, part.data(), part.size());
    crc = crc32c(std::span<const std::byte>(to + at, part.size()), crc);
  }
  return crc;
}

std::uint32_t crc32c_joined(std::uint32_t first, std::uint32_t second, std::uint64_t second_length) {
  return multiplied(power_of(second_length), first) ^ second;
}

}  // namespace penstock
