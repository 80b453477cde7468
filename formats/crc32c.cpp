#include <array>
#include <cstring>

#include <penstock/formats/crc32c.hpp>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace penstock {
namespace {

constexpr std::uint32_t kPolynomial = 0x82F63B78;  // 0x1EDC6F41, bits reversed

using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

// tables[k][b]: what byte b does to the register once k more bytes have followed it.
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

// Polynomials over GF(2) modulo the one above, as registers hold them: the highest bit is the coefficient of x^0.
constexpr std::uint32_t multiplied(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (int bit = 31; bit >= 0; --bit) {
    product ^= b & (0U - ((a >> bit) & 1));
    b = (b >> 1) ^ (kPolynomial & (0U - (b & 1)));
  }
  return product;
}

// powers[k]: x^(8 * 2^k), which moves a register behind 2^k more bytes.
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
// Three runs of kRun bytes at a time: the instruction takes three cycles, but one may begin in each.
template <std::size_t kRun>
__attribute__((target("sse4.2"))) std::uint32_t by_threes(std::uint32_t crc, const std::byte*& data,
                                                          std::size_t& size) {
  constexpr std::uint32_t kOneRun = power_of(kRun), kTwoRuns = power_of(2 * kRun);
  for (; size >= 3 * kRun; data += 3 * kRun, size -= 3 * kRun) {
    std::uint64_t sums[3] = {crc, 0, 0};
    for (std::size_t at = 0; at < kRun; at += 8) {
      std::uint64_t words[3];
      for (std::size_t run = 0; run < 3; ++run) std::memcpy(&words[run], data + run * kRun + at, 8);
      for (std::size_t run = 0; run < 3; ++run) sums[run] = _mm_crc32_u64(sums[run], words[run]);
    }
    crc = multiplied(kTwoRuns, static_cast<std::uint32_t>(sums[0])) ^
          multiplied(kOneRun, static_cast<std::uint32_t>(sums[1])) ^ static_cast<std::uint32_t>(sums[2]);
  }
  return crc;
}

__attribute__((target("sse4.2"))) std::uint32_t by_instruction(std::uint32_t crc, const std::byte* data,
                                                               std::size_t size) {
  crc = by_threes<8192>(crc, data, size);
  crc = by_threes<512>(crc, data, size);
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
#endif

}  // namespace

std::uint32_t crc32c_portable(std::span<const std::byte> bytes, std::uint32_t crc) {
  return ~by_table(~crc, bytes.data(), bytes.size());
}

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t crc) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) return ~by_instruction(~crc, bytes.data(), bytes.size());
#endif
  return crc32c_portable(bytes, crc);
}

std::uint32_t crc32c_joined(std::uint32_t first, std::uint32_t second, std::uint64_t second_length) {
  return multiplied(power_of(second_length), first) ^ second;
}

}  // namespace penstock
