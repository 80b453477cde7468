#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>

#include <formats/filters/block_front.hpp>
#include <formats/filters/scale_offset.hpp>

namespace penstock {
namespace {

constexpr const char* kScaleOffset = "scale-offset";
constexpr std::uint32_t kFloats = 1U << 8, kBigEndian = 1U << 9, kHasFill = 1U << 10, kElement = 0xFF;

// Reads numbers of `bits` bits, the highest bit first. The caller checks that the bytes hold them.
class PackedBits {
 public:
  PackedBits(std::span<const std::byte> bytes, unsigned bits) : next_(bytes.data()), bits_(bits) {}

  std::uint64_t next() {
    constexpr unsigned kHalf = 32;  // with the rest of a byte, this number of bits fits into 64
    if (bits_ <= kHalf) return take(bits_);
    const std::uint64_t high = take(bits_ - kHalf);
    return high << kHalf | take(kHalf);
  }

 private:
  std::uint64_t take(unsigned bits) {
    for (; held_ < bits; held_ += 8) holds_ = holds_ << 8 | std::to_integer<std::uint64_t>(*next_++);
    held_ -= bits;
    return holds_ >> held_ & ((std::uint64_t{1} << bits) - 1);
  }

  const std::byte* next_;
  unsigned bits_, held_ = 0;
  std::uint64_t holds_ = 0;  // its lowest held_ bits are not consumed
};

template <typename Element>
Element of_bits(std::uint64_t bits) {
  Element element;
  std::memcpy(&element, &bits, sizeof(element));  // little-endian
  return element;
}

// The nearest number. libhdf5 calls pow(), and may get the adjacent number: glibc's pow() does for 10^23.
template <std::floating_point Element>
Element power_of_ten(std::int32_t exponent) {
  const std::string text = "1e" + std::to_string(exponent);
  Element power{};
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), power);
  if (parsed.ec == std::errc()) return power;
  return exponent > 0 ? std::numeric_limits<Element>::infinity() : Element{0};
}

// libhdf5 computes floats in their own precision.
template <std::floating_point Element>
Element restored(std::uint64_t code, Element smallest, Element scale) {
  return static_cast<Element>(code) / scale + smallest;
}

template <std::unsigned_integral Element>
Element restored(std::uint64_t code, Element smallest, Element /*scale*/) {
  return static_cast<Element>(code + smallest);
}

template <typename Element>
void unpack(PackedBits& packed, unsigned bits, std::uint64_t smallest_bits, std::span<std::byte> plain,
            const ScaleOffset& parameters) {
  const auto smallest = of_bits<Element>(smallest_bits), fill = of_bits<Element>(parameters.fill.value_or(0));
  const std::uint64_t fill_code = (std::uint64_t{1} << bits) - 1;
  Element scale{1};
  if constexpr (std::is_floating_point_v<Element>) {
    scale = power_of_ten<Element>(parameters.decimals);
  }
  for (std::size_t at = 0; at < plain.size(); at += sizeof(Element)) {
    const std::uint64_t code = bits == 0 ? 0 : packed.next();
    const bool is_fill = parameters.fill && code == fill_code;
    const Element element = is_fill ? fill : restored<Element>(code, smallest, scale);
    std::memcpy(plain.data() + at, &element, sizeof(element));
  }
}

void unpack_any(PackedBits& packed, unsigned bits, std::uint64_t smallest, std::span<std::byte> plain,
                const ScaleOffset& parameters) {
  switch (parameters.element) {
    case 1:
      return unpack<std::uint8_t>(packed, bits, smallest, plain, parameters);
    case 2:
      return unpack<std::uint16_t>(packed, bits, smallest, plain, parameters);
    case 4:
      return parameters.floats ? unpack<float>(packed, bits, smallest, plain, parameters)
                               : unpack<std::uint32_t>(packed, bits, smallest, plain, parameters);
    default:
      return parameters.floats ? unpack<double>(packed, bits, smallest, plain, parameters)
                               : unpack<std::uint64_t>(packed, bits, smallest, plain, parameters);
  }
}

void reverse_elements(std::span<std::byte> plain, std::size_t element) {
  for (std::size_t at = 0; at < plain.size(); at += element)
    std::reverse(plain.data() + at, plain.data() + at + element);
}

}  // namespace

std::array<Filter, 4> scale_offset_filters(const ScaleOffset& parameters) {
  const std::uint64_t fill = parameters.fill.value_or(0);
  const std::uint32_t packed = parameters.element | (parameters.floats ? kFloats : 0) |
                               (parameters.big_endian ? kBigEndian : 0) | (parameters.fill ? kHasFill : 0);
  return {Filter{Filter::Id::scale_offset, packed},
          {Filter::Id::operand, static_cast<std::uint32_t>(parameters.decimals)},
          {Filter::Id::operand, static_cast<std::uint32_t>(fill)},
          {Filter::Id::operand, static_cast<std::uint32_t>(fill >> 32)}};
}

ScaleOffset scale_offset_parameters(std::span<const Filter> filters) {
  constexpr std::size_t kFilters = 4;
  const auto is_operand = [](const Filter& filter) { return filter.id == Filter::Id::operand; };
  if (filters.size() < kFilters || !std::ranges::all_of(filters.subspan(1, kFilters - 1), is_operand))
    throw Error::corrupt("a scale-offset filter without its parameters");
  const std::uint32_t packed = filters[0].parameter;
  ScaleOffset parameters{.element = packed & kElement,
                         .floats = (packed & kFloats) != 0,
                         .big_endian = (packed & kBigEndian) != 0,
                         .decimals = static_cast<std::int32_t>(filters[1].parameter),
                         .fill = {}};
  if ((packed & kHasFill) != 0) parameters.fill = filters[2].parameter | std::uint64_t{filters[3].parameter} << 32;
  const std::uint32_t element = parameters.element;
  const bool possible = element == 4 || element == 8 || (!parameters.floats && (element == 1 || element == 2));
  if (!possible) throw Error::corrupt("a scale-offset filter for elements of " + std::to_string(element) + " bytes");
  return parameters;
}

void scale_offset_decompress(std::span<const std::byte> stored, std::span<std::byte> plain,
                             const ScaleOffset& parameters) {
  constexpr std::uint64_t kMostOfSmallest = 8, kSpaceOfSmallest = 16;
  BlockFront front(stored, kScaleOffset);
  const std::uint64_t bits = front.little(4), smallest_bytes = front.little(1);
  BlockFront smallest(front.take(kSpaceOfSmallest), kScaleOffset);
  const std::uint64_t whole = parameters.element * std::uint64_t{8};
  if (bits > whole || plain.size() % parameters.element != 0) throw front.broken();
  if (bits == whole) {
    const auto elements = front.take(plain.size());
    std::copy(elements.begin(), elements.end(), plain.begin());
  } else {
    const std::uint64_t elements = plain.size() / parameters.element;
    PackedBits packed(front.take(elements / 8 * bits + (elements % 8 * bits + 7) / 8), static_cast<unsigned>(bits));
    unpack_any(packed, static_cast<unsigned>(bits), smallest.little(std::min(smallest_bytes, kMostOfSmallest)), plain,
               parameters);
  }
  if (parameters.big_endian) reverse_elements(plain, parameters.element);
}

}  // namespace penstock
