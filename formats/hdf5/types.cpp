#include <cstdint>

#include <formats/hdf5/types.hpp>

namespace penstock {
namespace {

// IEEE 754 binary16, for which libhdf5 1.10 has no name: sign bit 15, exponent of 5 bits, mantissa of 10.
Hdf5Handle half() {
  Hdf5Handle type(H5Tcopy(H5T_IEEE_F32LE));
  const bool made = type.valid() && H5Tset_fields(type.get(), 15, 10, 5, 0, 10) >= 0 &&
                    H5Tset_size(type.get(), 2) >= 0 && H5Tset_ebias(type.get(), 15) >= 0;
  return made ? std::move(type) : Hdf5Handle();
}

Hdf5Handle boolean() {
  Hdf5Handle type(H5Tenum_create(H5T_STD_I8LE));
  const std::int8_t no = 0;
  const std::int8_t yes = 1;
  const bool made =
      type.valid() && H5Tenum_insert(type.get(), "FALSE", &no) >= 0 && H5Tenum_insert(type.get(), "TRUE", &yes) >= 0;
  return made ? std::move(type) : Hdf5Handle();
}

hid_t standard(DType dtype) {
  switch (dtype) {
    case DType::u8:
      return H5T_STD_U8LE;
    case DType::i8:
      return H5T_STD_I8LE;
    case DType::u16:
    case DType::bf16:
      return H5T_STD_U16LE;
    case DType::i16:
      return H5T_STD_I16LE;
    case DType::u32:
      return H5T_STD_U32LE;
    case DType::i32:
      return H5T_STD_I32LE;
    case DType::u64:
      return H5T_STD_U64LE;
    case DType::i64:
      return H5T_STD_I64LE;
    case DType::f32:
      return H5T_IEEE_F32LE;
    case DType::f64:
      return H5T_IEEE_F64LE;
    case DType::f16:
    case DType::boolean:
      break;
  }
  return H5I_INVALID_HID;
}

}  // namespace

Hdf5Handle hdf5_type_of(DType dtype) {
  if (dtype == DType::f16) return half();
  if (dtype == DType::boolean) return boolean();
  return Hdf5Handle(H5Tcopy(standard(dtype)));
}

}  // namespace penstock
