#include <cstdint>
#include <cstring>

#include <unistd.h>

#include <penstock/loader/streamed_copy.hpp>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace penstock {
namespace {

#if defined(__x86_64__)
// Both copy whole lines of 64 bytes, to a multiple of 64, and return how many bytes that was.
__attribute__((target("avx512f"))) std::size_t stream_by_lines(std::byte* to, const std::byte* from, std::size_t size) {
  std::size_t at = 0;
  for (; size - at >= 256; at += 256) {
    __m512i lines[4];
    for (std::size_t i = 0; i < 4; ++i) lines[i] = _mm512_loadu_si512(from + at + 64 * i);
    for (std::size_t i = 0; i < 4; ++i) _mm512_stream_si512(reinterpret_cast<__m512i*>(to + at + 64 * i), lines[i]);
  }
  _mm_sfence();
  return at;
}

std::size_t stream_by_quarters(std::byte* to, const std::byte* from, std::size_t size) {
  std::size_t at = 0;
  for (; size - at >= 64; at += 64) {
    __m128i quarters[4];
    for (std::size_t i = 0; i < 4; ++i)
      quarters[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at + 16 * i));
    for (std::size_t i = 0; i < 4; ++i) _mm_stream_si128(reinterpret_cast<__m128i*>(to + at + 16 * i), quarters[i]);
  }
  _mm_sfence();
  return at;
}
#endif

}  // namespace

void copy_streamed(std::byte* to, std::span<const std::byte> bytes) {
  std::size_t done = 0;
#if defined(__x86_64__)
  constexpr std::size_t kLine = 64, kWorthwhile = 4096;
  static const bool has_lines = __builtin_cpu_supports("avx512f") != 0;
  if (bytes.size() >= kWorthwhile) {
    done = (kLine - reinterpret_cast<std::uintptr_t>(to) % kLine) % kLine;
    std::memcpy(to, bytes.data(), done);
    const auto stream = has_lines ? stream_by_lines : stream_by_quarters;
    done += stream(to + done, bytes.data() + done, bytes.size() - done);
  }
#endif
  if (done != bytes.size()) std::memcpy(to + done, bytes.data() + done, bytes.size() - done);
}

std::size_t last_cache_bytes() {
  constexpr long kUsual = 32L << 20;
  const long bytes = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
  return static_cast<std::size_t>(bytes > 0 ? bytes : kUsual);
}

}  // namespace penstock
