#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include <formats/half_floats.hpp>
#include <penstock/error.hpp>
#include <transforms/elements.hpp>

namespace penstock {
namespace {

static_assert(std::endian::native == std::endian::little, "stored elements are little-endian");

// Storage of the dtypes that C++ has no type for.
struct Half {
  std::uint16_t bits;
};
struct Brain {
  std::uint16_t bits;
};
struct Bool {
  std::uint8_t value;
};

float widen(Half half) {
  return float_of_half(half.bits);
}

float widen(Brain brain) {
  return float_of_brain(brain.bits);
}

std::uint16_t half_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000U, magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) return static_cast<std::uint16_t>(sign | 0x7E00U);   // NaN
  if (magnitude >= 0x477FF000U) return static_cast<std::uint16_t>(sign | 0x7C00U);  // rounds to 65536 or more
  if (magnitude < 0x38800000U) {  // below 2^-14: adding 0.5 leaves the rounded multiple of 2^-24 in the low bits
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3F000000U));
  }
  const std::uint32_t rounded = magnitude + 0xFFFU + ((magnitude >> 13) & 1U) - (112U << 23);
  return static_cast<std::uint16_t>(sign | rounded >> 13);
}

std::uint16_t brain_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<std::uint16_t>(bits >> 16 | 0x40U);  // NaN stays NaN
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

template <typename Stored>
auto number(Stored stored) {
  if constexpr (std::is_same_v<Stored, Half> || std::is_same_v<Stored, Brain>) {
    return widen(stored);
  } else if constexpr (std::is_same_v<Stored, Bool>) {
    return static_cast<std::uint8_t>(stored.value != 0);
  } else {
    return stored;
  }
}

template <typename To, typename From>
To integer(From value) {
  constexpr To kLowest = std::numeric_limits<To>::min(), kHighest = std::numeric_limits<To>::max();
  if constexpr (std::is_floating_point_v<From>) {
    if (std::isnan(value)) return 0;
    if (value <= static_cast<From>(kLowest)) return kLowest;
    if (value >= static_cast<From>(kHighest)) return kHighest;
  } else {
    if (std::cmp_less(value, kLowest)) return kLowest;
    if (std::cmp_greater(value, kHighest)) return kHighest;
  }
  return static_cast<To>(value);
}

// To the nearest float of those with an odd last bit where it is inexact, so that rounding once more is exact.
template <typename From>
float round_to_odd(From value) {
  const auto nearest = static_cast<float>(value);
  if constexpr (std::is_same_v<From, double>) {
    if (std::isfinite(nearest) && static_cast<double>(nearest) != value &&
        (std::bit_cast<std::uint32_t>(nearest) & 1U) == 0) {
      const bool up = static_cast<double>(nearest) < value;
      return std::nextafter(nearest,
                            up ? std::numeric_limits<float>::infinity() : -std::numeric_limits<float>::infinity());
    }
  }
  return nearest;
}

template <typename Stored, typename From>
Stored stored(From value) {
  if constexpr (std::is_same_v<Stored, Half>) {
    return {half_bits(round_to_odd(value))};
  } else if constexpr (std::is_same_v<Stored, Brain>) {
    return {brain_bits(round_to_odd(value))};
  } else if constexpr (std::is_same_v<Stored, Bool>) {
    return {static_cast<std::uint8_t>(value != From{0})};
  } else if constexpr (std::is_integral_v<Stored>) {
    return integer<Stored>(value);
  } else {
    return static_cast<Stored>(value);
  }
}

template <typename From, typename To>
void convert(const std::byte* in, std::byte* out, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    From element;
    std::memcpy(&element, in + i * sizeof(From), sizeof(From));
    const To result = stored<To>(number(element));
    std::memcpy(out + i * sizeof(To), &result, sizeof(To));
  }
}

template <typename Visitor>
void visit(DType dtype, const Visitor& visitor) {
  switch (dtype) {
    case DType::u8:
      return visitor(std::uint8_t{});
    case DType::i8:
      return visitor(std::int8_t{});
    case DType::u16:
      return visitor(std::uint16_t{});
    case DType::i16:
      return visitor(std::int16_t{});
    case DType::u32:
      return visitor(std::uint32_t{});
    case DType::i32:
      return visitor(std::int32_t{});
    case DType::u64:
      return visitor(std::uint64_t{});
    case DType::i64:
      return visitor(std::int64_t{});
    case DType::f16:
      return visitor(Half{});
    case DType::bf16:
      return visitor(Brain{});
    case DType::f32:
      return visitor(float{});
    case DType::f64:
      return visitor(double{});
    case DType::boolean:
      return visitor(Bool{});
  }
  throw Error::invalid_argument("no such dtype: " + std::to_string(static_cast<int>(dtype)));
}

}  // namespace

void convert_elements(const std::byte* in, DType from, std::byte* out, DType to, std::uint64_t count) {
  if (count == 0) return;
  if (from == to) {
    std::memcpy(out, in, count * size_of(from));
    return;
  }
  visit(from, [&](auto source) {
    visit(to, [&](auto target) { convert<decltype(source), decltype(target)>(in, out, count); });
  });
}

bool is_integer(DType dtype) {
  return dtype != DType::f16 && dtype != DType::bf16 && dtype != DType::f32 && dtype != DType::f64;
}

}  // namespace penstock
