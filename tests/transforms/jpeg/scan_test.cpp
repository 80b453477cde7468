#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <transforms/image/dct/blocks.hpp>
#include <transforms/image/jpeg/baseline_decoder.hpp>
#include <transforms/image/jpeg/scan_reader.hpp>

#include "support/simd_levels.hpp"

namespace penstock::test::scan_test {
namespace {

using namespace penstock::jpeg;
using Block = std::array<std::int16_t, 64>;  // in zigzag order

constexpr std::uint8_t kEndOfBlock = 0x00, kZeros = 0xF0;  // AC symbols

class BitWriter {
 public:
  void put(std::uint32_t value, unsigned bits) {
    for (unsigned i = bits; i-- > 0;) {
      if (used_ % 8 == 0) bytes_.push_back(0);
      bytes_.back() = static_cast<std::uint8_t>(bytes_.back() | (value >> i & 1U) << (7 - used_++ % 8));
    }
  }
  std::vector<std::uint8_t> bytes_;

 private:
  std::size_t used_ = 0;
};

struct Code {
  HuffmanCode stored;
  std::array<std::uint32_t, 256> bits{};
  std::array<unsigned, 256> length{};  ///< 0: no code

  void put(BitWriter& out, std::uint8_t symbol) const { out.put(bits[symbol], length[symbol]); }
};

/// A code in which the symbols of lengths[n] have n bits.
Code code_of(const std::array<std::vector<std::uint8_t>, 17>& lengths) {
  Code code;
  std::uint32_t next = 0;
  std::size_t used = 0;
  for (unsigned length = 1; length <= 16; ++length, next <<= 1) {
    code.stored.counts[length] = static_cast<std::uint8_t>(lengths[length].size());
    for (const std::uint8_t symbol : lengths[length]) {
      code.stored.symbols[used++] = symbol;
      code.bits[symbol] = next++;
      code.length[symbol] = length;
    }
  }
  return code;
}

/// Gives codes of random lengths to some of the symbols, in random order. `most` is the number of codes of each length.
Code random_code(std::vector<std::uint8_t> symbols, unsigned most, std::mt19937_64& random) {
  std::ranges::shuffle(symbols, random);
  std::array<std::vector<std::uint8_t>, 17> lengths;
  std::uint32_t next = 0;
  for (unsigned length = 1; length <= 16; ++length, next <<= 1) {
    const std::uint32_t room = (std::uint32_t{1} << length) - next - 1;  // the code of all ones is reserved
    const auto left = static_cast<std::uint32_t>(symbols.size());
    const std::uint32_t count = std::min({room, left, static_cast<std::uint32_t>(random() % (most + 1))});
    lengths[length].assign(symbols.end() - count, symbols.end());
    symbols.resize(left - count);
    next += count;
  }
  return code_of(lengths);
}

/// A number of exactly `size` bits, as a coefficient, and as it is stored.
struct Number {
  std::int16_t value;
  std::uint32_t bits;
};
Number random_number(unsigned size, std::mt19937_64& random) {
  if (size == 0) return {0, 0};
  const auto bits = static_cast<std::uint32_t>(random() % (1U << size));
  const auto value = static_cast<std::int32_t>(bits) - (bits >> (size - 1) == 0 ? (1 << size) - 1 : 0);
  return {static_cast<std::int16_t>(value), bits};
}

Block write_block(BitWriter& out, const Code& dc, const Code& ac, std::int16_t& sum, std::mt19937_64& random) {
  Block block{};
  std::vector<std::uint8_t> sizes, symbols;
  for (unsigned size = 0; size < 12; ++size)
    if (dc.length[size] != 0 && std::abs(sum) + (1 << size) < 32000) sizes.push_back(static_cast<std::uint8_t>(size));
  for (unsigned symbol = 0; symbol < 256; ++symbol)
    if (ac.length[symbol] != 0) symbols.push_back(static_cast<std::uint8_t>(symbol));
  const std::uint8_t size = sizes.at(random() % sizes.size());
  dc.put(out, size);
  const Number difference = random_number(size, random);
  out.put(difference.bits, size);
  sum = static_cast<std::int16_t>(sum + difference.value);
  block[0] = sum;
  for (std::size_t place = 1; place < 64;) {
    const std::uint8_t symbol = symbols[random() % symbols.size()];
    const std::size_t zeros = symbol >> 4;
    if (symbol == kEndOfBlock) {
      if (random() % 4 != 0) continue;
      ac.put(out, symbol);
      break;
    }
    if (place + zeros > 63) {
      if (random() % 8 != 0) continue;
      ac.put(out, kEndOfBlock);
      break;
    }
    ac.put(out, symbol);
    const Number number = random_number(symbol & 15, random);
    out.put(number.bits, symbol & 15);
    if ((symbol & 15) != 0) block[place + zeros] = number.value;
    place += zeros + 1;
  }
  return block;
}

struct Codes {
  Code dc, ac;
};

/// Each AC code and its number have 11 bits, as many as a look-up of the skipping reader. DC codes have 16 bits, which
/// must still be valid after several such look-ups.
Codes longest_codes() {
  std::array<std::vector<std::uint8_t>, 17> dc, ac;
  dc[16] = {0, 1, 2, 3, 4, 5};
  for (unsigned zeros = 0; zeros < 16; ++zeros) ac[5].push_back(static_cast<std::uint8_t>(zeros << 4 | 6));
  ac[11] = {kEndOfBlock};
  return {code_of(dc), code_of(ac)};
}

/// Codes of all lengths; the shortest ones may advance 16 places.
Codes random_codes(std::mt19937_64& random) {
  std::vector<std::uint8_t> sizes(12), symbols{kEndOfBlock, kZeros};
  std::iota(sizes.begin(), sizes.end(), std::uint8_t{0});
  for (unsigned zeros = 0; zeros < 16; ++zeros)
    for (unsigned size = 1; size <= 10; ++size) symbols.push_back(static_cast<std::uint8_t>(zeros << 4 | size));
  while (true) {
    Codes codes{random_code(sizes, 2, random), random_code(symbols, 1U + static_cast<unsigned>(random() % 12), random)};
    const bool starts = std::ranges::any_of(codes.dc.length.begin(), codes.dc.length.begin() + 6,
                                            [](unsigned length) { return length != 0; });
    if (starts && codes.ac.length[kEndOfBlock] != 0) return codes;
  }
}

}  // namespace

TEST_CASE("blocks of random codes are read, whichever blocks before them are skipped") {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    const auto [dc_code, ac_code] = round % 4 == 0 ? longest_codes() : random_codes(random);
    BitWriter out;
    std::int16_t sum = 0;
    std::vector<Block> blocks;
    for (int i = 0; i < 60; ++i) blocks.push_back(write_block(out, dc_code, ac_code, sum, random));
    const std::size_t size = out.bytes_.size();
    out.bytes_.resize(size + EntropyData::kSlack);

    HuffmanTable dc;
    CoefficientTable ac;
    REQUIRE(dc.build(dc_code.stored, Symbols::dc));
    REQUIRE(ac.build(ac_code.stored));
    const std::size_t first = random() % blocks.size(), count = 1 + random() % (blocks.size() - first);
    at_each_level([&] {
      std::vector<std::int16_t> read(64 * count + kBlockSlack);
      const ScanComponent component{.dc = &dc,
                                    .ac = &ac,
                                    .horizontal = 1,
                                    .vertical = 1,
                                    .wanted = {first, 0, count, 1},
                                    .coefficients = read.data(),
                                    .row_size = read.size()};
      ScanReader reader;
      reader.begin({out.bytes_.data(), size});
      REQUIRE(reader.read({&component, 1}, 0, 0, blocks.size()));
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < count; ++i)
        for (std::size_t k = 0; k < 64; ++k) wrong += read[64 * i + jpt::kNatural[k]] != blocks[first + i][k];
      CHECK(wrong == 0);
    });
  }
}

TEST_CASE("more zeros than a block has are an error, in skipped blocks too") {
  std::array<std::vector<std::uint8_t>, 17> dc_lengths, ac_lengths;
  dc_lengths[1] = {0};
  ac_lengths[1] = {kZeros};
  ac_lengths[2] = {kEndOfBlock};
  HuffmanTable dc;
  CoefficientTable ac;
  REQUIRE(dc.build(code_of(dc_lengths).stored, Symbols::dc));
  REQUIRE(ac.build(code_of(ac_lengths).stored));
  for (unsigned runs = 0; runs < 12; ++runs) {
    CAPTURE(runs);
    BitWriter out;
    out.put(0, 1 + runs);
    out.put(2, 2);  // the end of the block
    out.put(2, 3);  // another block, without zeros
    const std::size_t size = out.bytes_.size();
    out.bytes_.resize(size + EntropyData::kSlack);
    for (const std::size_t wanted : {0U, 1U}) {
      at_each_level([&] {
        std::vector<std::int16_t> read(64 + kBlockSlack);
        const ScanComponent component{.dc = &dc,
                                      .ac = &ac,
                                      .horizontal = 1,
                                      .vertical = 1,
                                      .wanted = {wanted, 0, 1, 1},
                                      .coefficients = read.data(),
                                      .row_size = read.size()};
        ScanReader reader;
        reader.begin({out.bytes_.data(), size});
        CHECK(reader.read({&component, 1}, 0, 0, 2) == (runs < 4));
      });
    }
  }
}

}  // namespace penstock::test::scan_test
