#include <formats/text/numpy_codes.hpp>
#include <formats/text/numpy_text.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

constexpr std::size_t kAlign = 64, kFixed = 10;  // kFixed: bytes before the dictionary in version 1.0
constexpr std::size_t kMostDimensions = 32;      // NumPy's limit, so version 1.0 always has room for the dictionary

}  // namespace

std::string npy_header_text(DType dtype, const Shape& shape) {
  if (shape.size() > kMostDimensions)
    throw Error::unsupported("an array of " + std::to_string(shape.size()) + " dimensions");
  std::string sides;
  for (const std::int64_t side : shape) sides += std::to_string(side) + ", ";
  if (shape.size() > 1) sides.resize(sides.size() - 2);
  if (shape.size() == 1) sides.pop_back();
  std::string text =
      "{'descr': '" + std::string(numpy_code(dtype)) + "', 'fortran_order': False, 'shape': (" + sides + "), }";
  text.append(kAlign - 1 - (kFixed + text.size()) % kAlign, ' ').push_back('\n');
  std::string header("\x93NUMPY\x01\x00", 8);
  header.push_back(static_cast<char>(text.size() & 0xFF));
  header.push_back(static_cast<char>(text.size() >> 8));
  return header + text;
}

}  // namespace penstock
