#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include <base/printable.hpp>
#include <formats/element_types.hpp>
#include <formats/text/pickle_array.hpp>
#include <formats/text/pickle_texts.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

using Kind = PickleKind;

// The position in Fortran order of an element in C order.
std::uint64_t fortran_position(const std::vector<std::uint64_t>& shape, std::uint64_t position) {
  std::uint64_t stride = 1, found = 0;
  for (const std::uint64_t size : shape) stride *= size;
  for (std::size_t i = shape.size(); i != 0; --i) {
    stride /= shape[i - 1];
    found += position % shape[i - 1] * stride;
    position /= shape[i - 1];
  }
  return found;
}

// The unsigned number of at most 8 bytes.
std::uint64_t bits_of(std::span<const std::byte> bytes, bool big_endian) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bits = bits << 8 | std::to_integer<std::uint64_t>(bytes[big_endian ? i : bytes.size() - 1 - i]);
  return bits;
}

PickleElement number_in(const PickleArray& array, std::span<const std::byte> bytes) {
  const std::uint64_t bits = bits_of(bytes, array.big_endian);
  if (array.kind == 'b') return {.kind = Kind::boolean, .integer = bits != 0};
  if (array.kind == 'f') {
    const double value = bytes.size() == 2   ? float_of_half(static_cast<std::uint16_t>(bits))
                         : bytes.size() == 4 ? std::bit_cast<float>(static_cast<std::uint32_t>(bits))
                                             : std::bit_cast<double>(bits);
    return {.kind = Kind::real, .real = value};
  }
  if (array.kind == 'u') {
    if (bits > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      throw Error::unsupported("has an integer of more than 64 bits");
    return {.kind = Kind::integer, .integer = static_cast<std::int64_t>(bits)};
  }
  const unsigned unused = 64 - 8 * static_cast<unsigned>(bytes.size());  // shifted out, to extend the sign
  return {.kind = Kind::integer, .integer = static_cast<std::int64_t>(bits << unused) >> unused};
}

PickleElement text_in(const PickleArray& array, std::span<const std::byte> bytes) {
  PickleElement element{.kind = array.kind == 'U' ? Kind::text : Kind::bytes};
  const std::size_t unit = array.kind == 'U' ? 4 : 1;
  std::size_t size = bytes.size();
  while (size != 0 && bits_of(bytes.subspan(size - unit, unit), false) == 0) size -= unit;
  for (std::size_t i = 0; i < size; i += unit) {
    const std::uint64_t code = bits_of(bytes.subspan(i, unit), array.big_endian);
    if (unit == 1) {
      element.text += static_cast<char>(code);
    } else {
      append_utf8(element.text, static_cast<std::uint32_t>(code));
    }
  }
  return element;
}

bool is_number(char kind, std::uint64_t bytes) {
  if (kind == 'b') return bytes == 1;
  if (kind == 'i' || kind == 'u') return bytes <= 8 && std::has_single_bit(bytes);
  return kind == 'f' && (bytes == 2 || bytes == 4 || bytes == 8);
}

// The product of `first` and the shape. Nothing if it overflows.
std::optional<std::uint64_t> product(std::uint64_t first, const std::vector<std::uint64_t>& shape) {
  if (std::ranges::find(shape, 0U) != shape.end()) return 0;
  for (const std::uint64_t size : shape) {
    if (__builtin_mul_overflow(first, size, &first)) return std::nullopt;
  }
  return first;
}

}  // namespace

PickleDtype pickle_dtype(std::string_view code) {
  const bool ordered = !code.empty() && std::string_view("<>|=").find(code[0]) != std::string_view::npos;
  const std::string_view plain = code.substr(ordered ? 1 : 0);
  const char kind = plain.empty() ? '\0' : plain[0];
  std::uint64_t items = 0;
  const char* const end = plain.data() + plain.size();
  const bool sized = plain.size() > 1 && std::from_chars(plain.data() + 1, end, items).ptr == end;
  constexpr std::uint64_t kLongestText = std::uint64_t{1} << 30;
  const bool text = (kind == 'S' || kind == 'U') && items != 0 && items <= kLongestText;
  if (kind != 'O' && !(sized && (text || is_number(kind, items))))
    throw Error::unsupported("has an array of dtype " + double_quoted(code) + ", which is neither numbers nor texts");
  return {.kind = kind, .item_bytes = kind == 'U' ? 4 * items : items, .big_endian = code[0] == '>'};
}

PickleArray pickle_array(const PickleDtype& dtype, std::vector<std::uint64_t> shape, bool fortran,
                         std::string_view bytes) {
  if (dtype.kind == 'O') throw Error::unsupported("has an array of objects in bytes");
  if (product(dtype.item_bytes, shape) != bytes.size())
    throw Error::corrupt("has " + with_commas(bytes.size()) + " bytes for an array of another size");
  const bool any_order = shape.size() < 2;
  return {.kind = dtype.kind,
          .item_bytes = dtype.item_bytes,
          .big_endian = dtype.big_endian,
          .fortran = fortran && !any_order,
          .shape = std::move(shape),
          .bytes = std::as_bytes(std::span(bytes))};
}

PickleElement element_at(const PickleArray& array, std::uint64_t position) {
  if (array.fortran) position = fortran_position(array.shape, position);
  const auto bytes = array.bytes.subspan(position * array.item_bytes, array.item_bytes);
  return array.kind == 'S' || array.kind == 'U' ? text_in(array, bytes) : number_in(array, bytes);
}

}  // namespace penstock
