// Tests kernels of the jpt decoder: all SIMD levels give the same bytes, whatever the coefficients.
#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <transforms/image/dct/blocks.hpp>
#include <transforms/image/dct/idct.hpp>
#include <transforms/image/dct/idct_reduced.hpp>
#include <transforms/image/dct/sample_rows.hpp>

#include "support/simd_levels.hpp"

namespace penstock::test::pixels_test {

using namespace penstock::jpt;

namespace {

using Samples = std::vector<std::uint8_t>;

constexpr std::size_t kBlocks = 13;

std::vector<std::int16_t> coefficients_of(int largest, std::mt19937& random) {
  std::vector<std::int16_t> all((kBlocks + kReducedSlack) * kBlockSize);
  for (std::int16_t& value : all)
    if (random() % 3 == 0)
      value =
          static_cast<std::int16_t>(static_cast<int>(random() % (2U * static_cast<unsigned>(largest) + 1)) - largest);
  return all;
}

Samples idct_of(const std::vector<std::int16_t>& coefficients) {
  constexpr std::size_t kStride = (kBlocks + kIdctSlack) * 8;
  Samples out(kStride * 8);
  idct(coefficients.data(), kBlocks, out.data(), kStride);
  Samples used;
  for (std::size_t y = 0; y < 8; ++y)
    used.insert(used.end(), out.begin() + static_cast<std::ptrdiff_t>(y * kStride),
                out.begin() + static_cast<std::ptrdiff_t>(y * kStride + 8 * kBlocks));
  return used;
}

/// The inverse DCT as it is defined.
double exact_sample(const std::int16_t* block, std::size_t x, std::size_t y) {
  double sum = 0;
  for (std::size_t v = 0; v < 8; ++v) {
    for (std::size_t u = 0; u < 8; ++u) {
      const double scale = (u == 0 ? std::sqrt(0.125) : 0.5) * (v == 0 ? std::sqrt(0.125) : 0.5);
      sum += scale * block[8 * v + u] *
             std::cos((2.0 * static_cast<double>(x) + 1) * static_cast<double>(u) * M_PI / 16) *
             std::cos((2.0 * static_cast<double>(y) + 1) * static_cast<double>(v) * M_PI / 16);
    }
  }
  return sum + 128;
}

template <class Compute>
void check_levels_agree(Compute compute) {
  const Samples first = compute();
  test::at_each_level([&] { CHECK(compute() == first); });
}

Samples random_samples(std::size_t count, std::mt19937& random) {
  Samples samples(count);
  for (std::uint8_t& sample : samples) sample = static_cast<std::uint8_t>(random());
  return samples;
}

}  // namespace

TEST_CASE("the inverse DCT is within one of the exact one, and alike at all levels for any coefficients") {
  std::mt19937 random(1);
  for (const int largest : {40, 200, 3000, 32767}) {
    const auto coefficients = coefficients_of(largest, random);
    check_levels_agree([&] { return idct_of(coefficients); });
    if (largest > 200) continue;
    const Samples samples = idct_of(coefficients);
    double worst = 0;
    for (std::size_t b = 0; b < kBlocks; ++b) {
      for (std::size_t i = 0; i < 64; ++i) {
        const double exact = std::clamp(exact_sample(coefficients.data() + 64 * b, i % 8, i / 8), 0.0, 255.0);
        worst = std::max(worst, std::abs(exact - samples[(i / 8) * 8 * kBlocks + 8 * b + i % 8]));
      }
    }
    CHECK(worst < 1.0);
  }
}

TEST_CASE("reduced inverse DCTs write nothing beside their blocks, and are alike at all levels for any coefficients") {
  std::mt19937 random(3);
  for (const int largest : {40, 200, 3000, 32767}) {
    const auto coefficients = coefficients_of(largest, random);
    for (const unsigned side : {4U, 2U, 1U}) {
      for (std::size_t blocks = 1; blocks <= kBlocks; ++blocks) {
        check_levels_agree([&] {
          constexpr std::size_t kStride = 8 * kBlocks;
          Samples out(kStride * (side + 1), 77);
          idct_reduced(coefficients.data(), blocks, side, out.data(), kStride);
          for (std::size_t i = 0; i < out.size(); ++i)
            if (i / kStride >= side || i % kStride >= side * blocks) REQUIRE(out[i] == 77);
          return out;
        });
      }
    }
  }
}

TEST_CASE("upsampling and colours are alike at all levels, and RGB ends where it should") {
  std::mt19937 random(2);
  for (const std::size_t count : {1U, 2U, 15U, 64U, 100U}) {
    const Samples a = random_samples(count + 2 * kRowSlack, random), b = random_samples(count + 2 * kRowSlack, random);
    const Samples c = random_samples(count + 2 * kRowSlack, random);
    auto rows = [&](auto kernel, std::size_t size) {
      check_levels_agree([&] {
        Samples out(size + 2 * kRowSlack);
        kernel(out.data());
        out.resize(size);
        return out;
      });
    };
    rows([&](std::uint8_t* out) { widen(a.data() + kRowSlack, count, out); }, 2 * count);
    rows([&](std::uint8_t* out) { widen_between(a.data() + kRowSlack, b.data() + kRowSlack, count, out); }, 2 * count);
    rows([&](std::uint8_t* out) { between(a.data() + kRowSlack, b.data() + kRowSlack, count, 2, out); }, count);
    auto colours = [&](auto kernel) {
      check_levels_agree([&] {
        Samples out(3 * count + 1, 0xA5);
        kernel(a.data(), b.data(), c.data(), count, out.data());
        CHECK(out.back() == 0xA5);
        return out;
      });
    };
    colours(ycc_to_rgb);
    colours(planes_to_rgb);
  }
}

TEST_CASE("colours are those of the formula, for all 2^24 of them in steps") {
  for (int y = 0; y < 256; y += 15) {
    for (int cb = 0; cb < 256; ++cb) {
      Samples ys(256 + kRowSlack, static_cast<std::uint8_t>(y)), cbs(256 + kRowSlack, static_cast<std::uint8_t>(cb));
      Samples crs(256 + kRowSlack), rgb(768);
      for (std::size_t i = 0; i < 256; ++i) crs[i] = static_cast<std::uint8_t>(i);
      ycc_to_rgb(ys.data(), cbs.data(), crs.data(), 256, rgb.data());
      int wrong = 0;
      for (int cr = 0; cr < 256; ++cr) {
        const int u = cb - 128, v = cr - 128;
        const int expected[] = {y + ((91881 * v + 32768) >> 16), y + ((-22554 * u - 46802 * v + 32768) >> 16),
                                y + ((116130 * u + 32768) >> 16)};
        for (int c = 0; c < 3; ++c)
          wrong += rgb[static_cast<std::size_t>(3 * cr + c)] != std::clamp(expected[c], 0, 255);
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("masks and values become the same blocks at all levels, whether blocks are passed over or not") {
  std::mt19937 random(3);
  constexpr std::size_t kCount = 150;
  std::vector<std::uint64_t> expected(kCount);
  for (std::uint64_t& mask : expected)
    mask = (std::uint64_t{random()} << 32 | random()) & (std::uint64_t{random()} << 32 | random());
  std::vector<std::uint8_t> rows(kCount);
  std::array<std::vector<std::uint8_t>, 8> streams;
  std::vector<std::int8_t> first, rest;
  std::vector<std::byte> escapes;
  std::vector<std::int16_t> dc(kCount), blocks(kCount * 64);
  std::array<std::int16_t, 64> steps;
  for (std::size_t k = 0; k < 64; ++k) steps[k] = static_cast<std::int16_t>(1 + random() % 9);
  for (std::size_t i = 0; i < kCount; ++i) {
    expected[i] &= ~std::uint64_t{1};
    dc[i] = static_cast<std::int16_t>(static_cast<int>(random() % 2001) - 1000);
    blocks[64 * i] = static_cast<std::int16_t>(dc[i] * steps[0]);
    for (std::size_t k = 1; k < 64; ++k) {
      if ((expected[i] >> k & 1U) == 0) continue;
      const int value = random() % 20 == 0 ? -1000 : 1 + static_cast<int>(random() % 127);
      if (value == -1000) {
        escapes.push_back(std::byte{0x18});
        escapes.push_back(std::byte{0xFC});
      }
      (k < 8 ? first : rest).push_back(static_cast<std::int8_t>(value == -1000 ? kEscape : value));
      blocks[64 * i + kNatural[k]] = static_cast<std::int16_t>(value * steps[kNatural[k]]);
    }
    for (std::size_t r = 0; r < 8; ++r) {
      const auto mask = static_cast<std::uint8_t>(expected[i] >> (8 * r));
      if (mask == 0) continue;
      rows[i] = static_cast<std::uint8_t>(rows[i] | 1U << r);
      streams[r].push_back(mask);
    }
  }
  std::array<std::size_t, 8> sizes;
  for (std::size_t r = 0; r < 8; ++r) sizes[r] = streams[r].size();
  const std::size_t values = first.size(), others = rest.size();
  rows.resize(kCount + kSymbolSlack);
  first.resize(values + kSymbolSlack);
  rest.resize(others + kSymbolSlack);
  std::array<const std::uint8_t*, 8> begins;
  for (std::size_t r = 0; r < 8; ++r) {
    streams[r].resize(sizes[r] + kSymbolSlack);
    begins[r] = streams[r].data();
  }
  test::at_each_level([&] {
    std::array<std::size_t, 8> counts;
    count_bits({rows.data(), kCount}, counts);
    CHECK(counts == sizes);
    CHECK(count_escapes(first.data(), values) + count_escapes(rest.data(), others) == escapes.size() / 2);
    std::vector<std::uint64_t> masks(kCount + 16);
    merge_masks({rows.data(), kCount}, begins, masks.data());
    masks.resize(kCount);
    CHECK(masks == expected);
    std::vector<std::int16_t> out(kCount * 64);
    Values at{first.data(), rest.data(), escapes.data()};
    expand(masks.data(), dc.data(), kCount, steps, at, out.data());
    CHECK(out == blocks);
    CHECK(at.first == first.data() + values);
    CHECK(at.escapes == escapes.data() + escapes.size());
    for (const bool tail : {false, true}) {
      at = {first.data(), rest.data(), escapes.data()};
      const std::size_t passed = tail ? 149 : 70;
      skip(masks.data(), passed, true, at);
      expand(masks.data() + passed, dc.data() + passed, 1, steps, at, out.data());
      CHECK(std::equal(out.begin(), out.begin() + 64, blocks.begin() + static_cast<std::ptrdiff_t>(64 * passed)));
    }
  });
}

}  // namespace penstock::test::pixels_test
