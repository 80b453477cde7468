#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <transforms/elements.hpp>

namespace penstock::test::elements_test {
namespace {

template <typename To, typename From>
To converted(From value, DType from, DType to) {
  To result{};
  convert_elements(reinterpret_cast<const std::byte*>(&value), from, reinterpret_cast<std::byte*>(&result), to, 1);
  return result;
}

std::uint16_t half(double value) {
  return converted<std::uint16_t>(value, DType::f64, DType::f16);
}

std::uint16_t brain(double value) {
  return converted<std::uint16_t>(value, DType::f64, DType::bf16);
}

}  // namespace

TEST_CASE("every float16 and bfloat16 survives the way to float32 and back") {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto pattern = static_cast<std::uint16_t>(bits);
    for (const DType dtype : {DType::f16, DType::bf16}) {
      const auto wide = converted<float>(pattern, dtype, DType::f32);
      if (std::isnan(wide)) {
        CHECK(std::isnan(converted<float>(converted<std::uint16_t>(wide, DType::f32, dtype), dtype, DType::f32)));
      } else {
        REQUIRE(converted<std::uint16_t>(wide, DType::f32, dtype) == pattern);
      }
    }
  }
}

TEST_CASE("floating point rounds to nearest even, once") {
  CHECK(half(1.0) == 0x3C00);
  CHECK(half(-2.0) == 0xC000);
  CHECK(half(65504.0) == 0x7BFF);
  CHECK(half(65519.9) == 0x7BFF);
  CHECK(half(65520.0) == 0x7C00);
  CHECK(half(0x1p-24) == 0x0001);
  CHECK(half(0x1p-25) == 0x0000);
  CHECK(half(1 + 0x1p-11) == 0x3C00);            // a tie goes to even
  CHECK(half(1 + 0x1p-11 + 0x1p-40) == 0x3C01);  // just above it, though float32 cannot tell
  CHECK(half(1 + 0x3p-11) == 0x3C02);
  CHECK(brain(1 + 0x1p-8) == 0x3F80);
  CHECK(brain(1 + 0x1p-8 + 0x1p-40) == 0x3F81);
  CHECK(half(1e300) == 0x7C00);
}

TEST_CASE("integers saturate, truncate toward zero, and NaN becomes 0") {
  CHECK(converted<std::uint8_t>(300.7, DType::f64, DType::u8) == 255);
  CHECK(converted<std::uint8_t>(-1.0F, DType::f32, DType::u8) == 0);
  CHECK(converted<std::int8_t>(-7.9, DType::f64, DType::i8) == -7);
  CHECK(converted<std::int64_t>(1e30, DType::f64, DType::i64) == std::numeric_limits<std::int64_t>::max());
  CHECK(converted<std::int64_t>(std::nan(""), DType::f64, DType::i64) == 0);
  CHECK(converted<std::int32_t>(std::uint64_t{1} << 40, DType::u64, DType::i32) ==
        std::numeric_limits<std::int32_t>::max());
  CHECK(converted<std::uint64_t>(std::int64_t{-5}, DType::i64, DType::u64) == 0);
  CHECK(converted<std::int64_t>((std::int64_t{1} << 53) + 1, DType::i64, DType::i64) == (std::int64_t{1} << 53) + 1);
  CHECK(converted<std::uint8_t>(0.25, DType::f64, DType::boolean) == 1);
  CHECK(converted<float>(std::uint8_t{2}, DType::boolean, DType::f32) == 1.0F);
}

}  // namespace penstock::test::elements_test
