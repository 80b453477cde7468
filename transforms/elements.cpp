#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include <base/numbers/load.hpp>
#include <formats/element_types.hpp>
#include <transforms/elements.hpp>

namespace penstock {
namespace {

static_assert(std::endian::native == std::endian::little, "stored elements are little-endian");

std::uint16_t half_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000U, magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) return static_cast<std::uint16_t>(sign | 0x7E00U);   // NaN
  if (magnitude >= 0x477FF000U) return static_cast<std::uint16_t>(sign | 0x7C00U);  // rounds to 65536 or more
  // Below 2^-14, adding 0.5 leaves the rounded multiple of 2^-24 in the low bits.
  if (magnitude < 0x38800000U) {
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

// Rounds inexact numbers to the neighbouring float with an odd last bit. A second rounding to fewer bits then gives the
// same result as rounding once (no double rounding).
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
  if constexpr (std::is_same_v<Stored, HalfElement>) {
    return {half_bits(round_to_odd(value))};
  } else if constexpr (std::is_same_v<Stored, BrainElement>) {
    return {brain_bits(round_to_odd(value))};
  } else if constexpr (std::is_same_v<Stored, BoolElement>) {
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
    const To result = stored<To>(number_of(load<From>(in + i * sizeof(From))));
    std::memcpy(out + i * sizeof(To), &result, sizeof(To));
  }
}

template <typename Number>
std::optional<Element> element_of_number(DType dtype, DType own, Number number) {
  Element element{.bytes = size_of(dtype)};
  convert_elements(reinterpret_cast<const std::byte*>(&number), own, element.value.data(), dtype, 1);
  if (is_integer(dtype)) {
    Number back{};
    convert_elements(element.value.data(), dtype, reinterpret_cast<std::byte*>(&back), own, 1);
    return back == number ? std::optional(element) : std::nullopt;
  }
  double back = 0;
  convert_elements(element.value.data(), dtype, reinterpret_cast<std::byte*>(&back), DType::f64, 1);
  const bool too_large = std::isinf(back) && !std::isinf(static_cast<double>(number));
  return too_large ? std::nullopt : std::optional(element);
}

}  // namespace

void convert_elements(const std::byte* in, DType from, std::byte* out, DType to, std::uint64_t count) {
  if (count == 0) return;
  if (from == to) {
    std::memcpy(out, in, count * size_of(from));
    return;
  }
  with_element(from, [&](auto source) {
    with_element(to, [&](auto target) { convert<decltype(source), decltype(target)>(in, out, count); });
  });
}

bool is_integer(DType dtype) {
  return dtype != DType::f16 && dtype != DType::bf16 && dtype != DType::f32 && dtype != DType::f64;
}

void Element::fill(std::span<std::byte> place) const {
  for (std::size_t at = 0; at < place.size(); at += bytes)
    std::copy_n(value.begin(), bytes, place.begin() + static_cast<std::ptrdiff_t>(at));
}

std::optional<Element> element_of(DType dtype, double number) {
  return element_of_number(dtype, DType::f64, number);
}

std::optional<Element> element_of(DType dtype, std::int64_t number) {
  return element_of_number(dtype, DType::i64, number);
}

}  // namespace penstock
