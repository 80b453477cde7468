#include <algorithm>
#include <array>
#include <bit>

#include <formats/hdf5/datatype.hpp>

namespace penstock {
namespace {

constexpr int kDeepest = 8;  // nested types, such as arrays of enumerations: deeper files are corrupt

Hdf5Type other(std::string reason, std::uint64_t size) {
  return {.kind = Hdf5Type::Kind::other, .size = size, .reason = std::move(reason)};
}

Hdf5Type number(DType dtype, bool swapped) {
  return {
      .kind = Hdf5Type::Kind::number, .size = size_of(dtype), .dtype = dtype, .swapped = swapped && size_of(dtype) > 1};
}

std::optional<DType> integer(std::uint64_t bytes, bool is_signed) {
  constexpr std::array kSigned{DType::i8, DType::i16, DType::i32, DType::i64},
      kUnsigned{DType::u8, DType::u16, DType::u32, DType::u64};
  const auto place = static_cast<std::size_t>(std::countr_zero(bytes));
  if (!std::has_single_bit(bytes) || place >= kSigned.size()) return std::nullopt;
  return is_signed ? kSigned[place] : kUnsigned[place];
}

Hdf5Type read_integer(Hdf5Cursor& cursor, std::uint32_t bits, std::uint64_t size, bool is_signed) {
  const std::uint64_t offset = cursor.u16();
  const std::uint64_t precision = cursor.u16();
  const auto dtype = integer(size, is_signed);
  if (!dtype || offset != 0 || precision != size * 8)
    return other("integers of " + std::to_string(precision) + " bits in " + std::to_string(size) + " bytes", size);
  return number(*dtype, (bits & 1U) != 0);
}

struct FloatKind {
  DType dtype;
  std::uint64_t exponent_at, exponent_bits, mantissa_bits;
  std::uint32_t bias;
};
constexpr std::array kFloats{FloatKind{DType::f16, 10, 5, 10, 15}, FloatKind{DType::bf16, 7, 8, 7, 127},
                             FloatKind{DType::f32, 23, 8, 23, 127}, FloatKind{DType::f64, 52, 11, 52, 1023}};

Hdf5Type read_float(Hdf5Cursor& cursor, std::uint32_t bits, std::uint64_t size) {
  const std::uint64_t offset = cursor.u16();
  const std::uint64_t precision = cursor.u16();
  const std::uint64_t exponent_at = cursor.u8(), exponent_bits = cursor.u8();
  const std::uint64_t mantissa_at = cursor.u8(), mantissa_bits = cursor.u8();
  const std::uint32_t bias = cursor.u32();
  const std::uint32_t sign_at = bits >> 8 & 0xFFU;
  constexpr std::uint32_t kVaxOrder = 0x40, kImpliedOne = 2;
  for (const FloatKind& kind : kFloats) {
    if (size == size_of(kind.dtype) && offset == 0 && precision == size * 8 && exponent_at == kind.exponent_at &&
        exponent_bits == kind.exponent_bits && mantissa_at == 0 && mantissa_bits == kind.mantissa_bits &&
        bias == kind.bias && sign_at == size * 8 - 1 && (bits & kVaxOrder) == 0 && (bits >> 4 & 3U) == kImpliedOne) {
      return number(kind.dtype, (bits & 1U) != 0);
    }
  }
  return other("floating point numbers of an unusual kind", size);
}

bool is_bool(Hdf5Cursor cursor, unsigned version, std::uint32_t members) {
  const auto name = [&] {
    const std::size_t before = cursor.rest().size();
    std::string text = cursor.terminated();
    const std::size_t used = before - cursor.rest().size();
    if (version < 3) cursor.skip((8 - used % 8) % 8);
    return text;
  };
  if (members != 2 || name() != "FALSE" || name() != "TRUE") return false;
  return cursor.u8() == 0 && cursor.u8() == 1;
}

Hdf5Type read_nested(const Hdf5File& file, Hdf5Cursor& cursor, int depth);

Hdf5Type read_enumeration(const Hdf5File& file, Hdf5Cursor& cursor, unsigned version, std::uint32_t members,
                          int depth) {
  Hdf5Type base = read_nested(file, cursor, depth);
  if (base.kind != Hdf5Type::Kind::number) return other("an unusual enumeration", base.size);
  if (base.dtype == DType::i8 && is_bool(cursor, version, members)) base.dtype = DType::boolean;
  return base;
}

Hdf5Type read_sequence(const Hdf5File& file, Hdf5Cursor& cursor, std::uint32_t bits, std::uint64_t size, int depth) {
  constexpr std::uint32_t kText = 1;
  const std::uint64_t expected = 8U + file.sizes().offset;
  const Hdf5Type base = read_nested(file, cursor, depth);
  if (size != expected) throw Error::corrupt("references of " + std::to_string(size) + " bytes");
  if ((bits & 0xFU) == kText) return {.kind = Hdf5Type::Kind::text, .size = size};
  if (base.kind == Hdf5Type::Kind::opaque && base.size == 1) return {.kind = Hdf5Type::Kind::sequence, .size = size};
  if (base.kind != Hdf5Type::Kind::number || !base.dims.empty())
    return other("sequences of elements that are not numbers", size);
  return {.kind = Hdf5Type::Kind::sequence, .size = size, .dtype = base.dtype, .swapped = base.swapped};
}

Hdf5Type read_array(const Hdf5File& file, Hdf5Cursor& cursor, unsigned version, std::uint64_t size, int depth) {
  const std::size_t rank = cursor.u8();
  if (version < 3) cursor.skip(3);
  std::vector<std::uint64_t> dims;
  for (std::size_t i = 0; i < rank; ++i) dims.push_back(cursor.u32());
  if (version < 3) cursor.skip(4 * rank);
  Hdf5Type base = read_nested(file, cursor, depth);
  if (base.kind != Hdf5Type::Kind::number && base.kind != Hdf5Type::Kind::opaque) {
    return other(base.reason.empty() ? "arrays of elements that are not numbers" : base.reason, size);
  }
  std::uint64_t bytes = base.size;
  for (const std::uint64_t dim : dims) {
    if (dim != 0 && bytes > std::uint64_t{1} << 40) throw Error::corrupt("array elements of too many bytes");
    bytes *= dim;
  }
  if (bytes != size) throw Error::corrupt("array elements of another length");
  base.dims.insert(base.dims.begin(), dims.begin(), dims.end());
  base.size = size;
  return base;
}

Hdf5Type read_nested(const Hdf5File& file, Hdf5Cursor& cursor, int depth) {
  if (depth == kDeepest) throw Error::corrupt("types that are nested too deeply");
  const unsigned head = cursor.u8();
  const unsigned version = head >> 4;
  const auto bits = static_cast<std::uint32_t>(cursor.number(3));
  const std::uint64_t size = cursor.u32();
  if (size == 0) throw Error::corrupt("elements of 0 bytes");
  switch (head & 0xFU) {
    case 0:
      return read_integer(cursor, bits, size, (bits & 8U) != 0);
    case 1:
      return read_float(cursor, bits, size);
    case 2:
      return other("times", size);
    case 3:
      return {.kind = Hdf5Type::Kind::fixed_text,
              .size = size,
              .padding = static_cast<Hdf5Type::Padding>(std::min<std::uint32_t>(bits & 0xFU, 2))};
    case 4:
      return read_integer(cursor, bits, size, false);
    case 5:
      cursor.skip(bits & 0xFFU);
      return {.kind = Hdf5Type::Kind::opaque, .size = size};
    case 6:
      return other("compound elements", size);
    case 7:
      return other("references", size);
    case 8:
      return read_enumeration(file, cursor, version, bits & 0xFFFFU, depth + 1);
    case 9:
      return read_sequence(file, cursor, bits, size, depth + 1);
    case 10:
      return read_array(file, cursor, version, size, depth + 1);
    case 11:
      return other("complex numbers", size);
    default:
      return other("elements of class " + std::to_string(head & 0xFU) + ", of a newer HDF5", size);
  }
}

}  // namespace

Hdf5Type read_type(const Hdf5File& file, std::span<const std::byte> message) {
  Hdf5Cursor cursor = file.cursor(message);
  return read_nested(file, cursor, 0);
}

}  // namespace penstock
