// Memory of a batch as at::Tensor, without a copy.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <torch/version.h>

#include <penstock/formats/error.hpp>
#include <penstock/formats/schema.hpp>

namespace penstock::torch {

/// torch's name of an element type. Throws Error: unsupported, for uint16, uint32 and uint64 before PyTorch 2.3, which
/// has no such tensors.
inline at::ScalarType scalar_type(DType dtype) {
  switch (dtype) {
    case DType::u8:
      return at::kByte;
    case DType::i8:
      return at::kChar;
    case DType::i16:
      return at::kShort;
    case DType::i32:
      return at::kInt;
    case DType::i64:
      return at::kLong;
    case DType::f16:
      return at::kHalf;
    case DType::bf16:
      return at::kBFloat16;
    case DType::f32:
      return at::kFloat;
    case DType::f64:
      return at::kDouble;
    case DType::boolean:
      return at::kBool;
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 3)
    case DType::u16:
      return at::kUInt16;
    case DType::u32:
      return at::kUInt32;
    case DType::u64:
      return at::kUInt64;
#else
    case DType::u16:
    case DType::u32:
    case DType::u64:
      break;
#endif
  }
  throw Error::unsupported("PyTorch " TORCH_VERSION " has no tensors of " + std::string(name(dtype)) +
                           " (2.3 has): let the output's chain cast to a signed type");
}

/// A tensor in `owner`'s memory, on the CPU, contiguous. It and all its views keep `owner`; when the last of them dies,
/// in whatever thread, `owner` is let go.
inline at::Tensor tensor_of(const void* data, DType dtype, const Shape& shape, std::shared_ptr<const void> owner) {
  // from_blob has no form for memory that must not be written; what in-place operations change is gone with the batch.
  return at::from_blob(
      const_cast<void*>(data), shape, [owner = std::move(owner)](void*) {}, at::TensorOptions(scalar_type(dtype)));
}

}  // namespace penstock::torch
