// Maps a DType to the C++ type of its elements. All code uses this one mapping.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <type_traits>

#include <penstock/error.hpp>
#include <penstock/schema.hpp>

namespace penstock {

/// The bits of element types that C++20 lacks.
struct HalfElement {
  std::uint16_t bits;
};
struct BrainElement {
  std::uint16_t bits;
};
struct BoolElement {
  std::uint8_t value;
};

/// Returns visit(element). Only the type of `element` matters: it is the C++ type for `dtype`.
template <typename Visit>
auto with_element(DType dtype, const Visit& visit) {
  switch (dtype) {
    case DType::u8:
      return visit(std::uint8_t{});
    case DType::i8:
      return visit(std::int8_t{});
    case DType::u16:
      return visit(std::uint16_t{});
    case DType::i16:
      return visit(std::int16_t{});
    case DType::u32:
      return visit(std::uint32_t{});
    case DType::i32:
      return visit(std::int32_t{});
    case DType::u64:
      return visit(std::uint64_t{});
    case DType::i64:
      return visit(std::int64_t{});
    case DType::f16:
      return visit(HalfElement{});
    case DType::bf16:
      return visit(BrainElement{});
    case DType::f32:
      return visit(float{});
    case DType::f64:
      return visit(double{});
    case DType::boolean:
      return visit(BoolElement{});
  }
  throw Error::invalid_argument("no such dtype: " + std::to_string(static_cast<int>(dtype)));
}

/// Converts IEEE 754 binary16.
inline float float_of_half(std::uint16_t bits) {
  const std::uint32_t sign = std::uint32_t{bits & 0x8000U} << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1FU, fraction = bits & 0x3FFU;
  if (exponent == 0) {  // zero and subnormals: fraction * 2^-24
    const float value = static_cast<float>(fraction) * 0x1p-24F;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | sign);
  }
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000U | fraction << 13);
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

/// Converts bfloat16, the upper half of a binary32.
inline float float_of_brain(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

/// Returns the value of an element in an arithmetic C++ type: 16-bit floats as float, booleans as 0 or 1.
template <typename Element>
auto number_of(Element element) {
  if constexpr (std::is_same_v<Element, HalfElement>) {
    return float_of_half(element.bits);
  } else if constexpr (std::is_same_v<Element, BrainElement>) {
    return float_of_brain(element.bits);
  } else if constexpr (std::is_same_v<Element, BoolElement>) {
    return static_cast<std::uint8_t>(element.value != 0);
  } else {
    return element;
  }
}

}  // namespace penstock
