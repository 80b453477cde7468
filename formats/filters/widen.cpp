#include <array>
#include <bit>
#include <cstring>
#include <string>

#include <base/numbers/load.hpp>
#include <formats/element_types.hpp>
#include <formats/filters/widen.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

static_assert(std::endian::native == std::endian::little, "stored elements are little-endian");

enum class Kind : std::uint8_t { unsigned_integer, signed_integer, floating, boolean };

Kind kind_of(DType dtype) {
  return with_element(dtype, [](auto element) {
    using Element = decltype(element);
    if (std::is_same_v<Element, BoolElement>) return Kind::boolean;
    if (!std::is_integral_v<Element>) return Kind::floating;
    return std::is_signed_v<Element> ? Kind::signed_integer : Kind::unsigned_integer;
  });
}

template <typename From, typename To>
void widen_each(std::span<const std::byte> stored, std::byte* wide) {
  for (std::size_t i = 0; i < stored.size() / sizeof(From); ++i) {
    const To made = static_cast<To>(number_of(load<From>(stored, i * sizeof(From))));
    std::memcpy(wide + i * sizeof(To), &made, sizeof(To));
  }
}

// Signed dtypes are widened only to signed dtypes. Therefore sign extension is enough for each `from`.
template <typename From>
void widen_from(std::span<const std::byte> stored, std::byte* wide, DType to) {
  if constexpr (!std::is_integral_v<From>) {
    return to == DType::f32 ? widen_each<From, float>(stored, wide) : widen_each<From, double>(stored, wide);
  } else {
    switch (size_of(to)) {
      case 2:
        return widen_each<From, std::uint16_t>(stored, wide);
      case 4:
        return widen_each<From, std::uint32_t>(stored, wide);
      default:
        return widen_each<From, std::uint64_t>(stored, wide);
    }
  }
}

}  // namespace

bool widens(DType from, DType to) {
  if (size_of(to) <= size_of(from)) return false;
  return kind_of(from) == kind_of(to) ||
         (kind_of(from) == Kind::unsigned_integer && kind_of(to) == Kind::signed_integer);
}

std::optional<DType> dtype_of_both(DType a, DType b) {
  constexpr std::array kBySize{DType::u8,  DType::i8,  DType::f16, DType::bf16, DType::u16, DType::i16,
                               DType::u32, DType::i32, DType::f32, DType::u64,  DType::i64, DType::f64};
  if (a == b) return a;
  for (const DType wide : kBySize) {
    if ((a == wide || widens(a, wide)) && (b == wide || widens(b, wide))) return wide;
  }
  return std::nullopt;
}

std::uint32_t widening_parameter(DType from, DType to) {
  return static_cast<std::uint32_t>(from) | static_cast<std::uint32_t>(to) << 8;
}

std::uint64_t growth_of_widening(std::uint32_t parameter) {
  const std::uint32_t from = parameter & 0xFF, to = parameter >> 8;
  constexpr auto kLast = static_cast<std::uint32_t>(DType::boolean);
  if (from > kLast || to > kLast || !widens(static_cast<DType>(from), static_cast<DType>(to)))
    throw Error::corrupt("a block converts its numbers to a dtype that is not wider");
  return size_of(static_cast<DType>(to)) / size_of(static_cast<DType>(from));
}

void widen(std::span<const std::byte> stored, std::span<std::byte> wide, std::uint32_t parameter) {
  const std::uint64_t growth = growth_of_widening(parameter);
  const auto from = static_cast<DType>(parameter & 0xFF), to = static_cast<DType>(parameter >> 8);
  if (stored.size() % size_of(from) != 0 || wide.size() != stored.size() * growth)
    throw Error::corrupt("block of " + std::to_string(stored.size()) + " bytes does not hold whole " +
                         std::string(name(from)));
  with_element(from, [&](auto element) { widen_from<decltype(element)>(stored, wide.data(), to); });
}

}  // namespace penstock
