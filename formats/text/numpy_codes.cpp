#include <array>
#include <string>

#include <formats/text/numpy_codes.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

struct Code {
  std::string_view text;
  DType dtype;
};

constexpr std::array kCodes{Code{"|b1", DType::boolean}, Code{"|u1", DType::u8},  Code{"|i1", DType::i8},
                            Code{"<u2", DType::u16},     Code{"<i2", DType::i16}, Code{"<u4", DType::u32},
                            Code{"<i4", DType::i32},     Code{"<u8", DType::u64}, Code{"<i8", DType::i64},
                            Code{"<f2", DType::f16},     Code{"<f4", DType::f32}, Code{"<f8", DType::f64}};

}  // namespace

std::optional<DType> dtype_of_numpy(std::string_view code) {
  for (const Code& known : kCodes) {
    if (known.text.substr(1) == code) return known.dtype;
  }
  return std::nullopt;
}

std::string_view numpy_code(DType dtype) {
  for (const Code& known : kCodes) {
    if (known.dtype == dtype) return known.text;
  }
  throw Error::unsupported("NumPy has no " + std::string(name(dtype)));
}

}  // namespace penstock
