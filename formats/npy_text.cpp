#include <penstock/formats/error.hpp>
#include <penstock/formats/npy_text.hpp>

namespace penstock {
namespace {

constexpr std::size_t kAlign = 64, kFixed = 10;  // bytes before the dictionary in version 1.0
constexpr std::size_t kMostDimensions = 32;      // as NumPy allows: so version 1.0 always holds the dictionary

const char* code_of(DType dtype) {
  switch (dtype) {
    case DType::u8:
      return "|u1";
    case DType::i8:
      return "|i1";
    case DType::u16:
      return "<u2";
    case DType::i16:
      return "<i2";
    case DType::u32:
      return "<u4";
    case DType::i32:
      return "<i4";
    case DType::u64:
      return "<u8";
    case DType::i64:
      return "<i8";
    case DType::f16:
      return "<f2";
    case DType::f32:
      return "<f4";
    case DType::f64:
      return "<f8";
    case DType::boolean:
      return "|b1";
    case DType::bf16:
      break;
  }
  throw Error::unsupported("NumPy has no " + std::string(name(dtype)));
}

}  // namespace

std::string npy_header_text(DType dtype, const Shape& shape) {
  if (shape.size() > kMostDimensions)
    throw Error::unsupported("an array of " + std::to_string(shape.size()) + " dimensions");
  std::string sides;
  for (const std::int64_t side : shape) sides += std::to_string(side) + ", ";
  if (shape.size() > 1) sides.resize(sides.size() - 2);
  if (shape.size() == 1) sides.pop_back();
  std::string text =
      std::string("{'descr': '") + code_of(dtype) + "', 'fortran_order': False, 'shape': (" + sides + "), }";
  text.append(kAlign - 1 - (kFixed + text.size()) % kAlign, ' ').push_back('\n');
  std::string header("\x93NUMPY\x01\x00", 8);
  header.push_back(static_cast<char>(text.size() & 0xFF));
  header.push_back(static_cast<char>(text.size() >> 8));
  return header + text;
}

}  // namespace penstock
