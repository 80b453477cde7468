// Wraps memory of a batch as at::Tensor, without a copy.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/version.h>

#include <penstock/device.hpp>
#include <penstock/error.hpp>
#include <penstock/schema.hpp>

namespace penstock::torch {

/// torch's name of an element type. Throws Error: unsupported, for uint16, uint32 and uint64 before PyTorch 2.3, which
/// lacks such tensors.
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
                           ": use PyTorch 2.3 or later, or let the output's chain cast to a signed type");
}

/// The number of torch's current stream on a GPU. Throws Error: unsupported, before PyTorch 2.4, if that is not the
/// default stream, because those versions do not expose the number.
inline StreamHandle current_stream(int gpu) {
  const c10::Device device(at::kCUDA, static_cast<c10::DeviceIndex>(gpu));
  const c10::Stream stream = c10::impl::VirtualGuardImpl(device.type()).getStream(device);
  if (stream.id() == 0) return kDefaultStream;
  const auto number = [](const auto& of) -> StreamHandle {
    if constexpr (requires { of.native_handle(); }) {
      return reinterpret_cast<StreamHandle>(of.native_handle());
    } else {
      throw Error::unsupported("PyTorch " TORCH_VERSION " does not expose the number of a stream: use 2.4 or later");
    }
  };
  return number(stream);
}

/// A contiguous tensor in `owner`'s memory, on a GPU if `device` is one, otherwise on the CPU. The tensor and all its
/// views keep `owner` alive; the last of them releases it, in whatever thread.
inline at::Tensor tensor_of(const void* data, DType dtype, const Shape& shape, std::shared_ptr<const void> owner,
                            const std::optional<DeviceId>& device = std::nullopt) {
  const bool gpu = device && device->kind == DeviceId::Kind::cuda;
  const c10::Device place =
      gpu ? c10::Device(at::kCUDA, static_cast<c10::DeviceIndex>(device->number)) : c10::Device(at::kCPU);
  // from_blob has no variant for read-only memory. In-place changes are lost with the batch.
  return at::for_blob(const_cast<void*>(data), shape)
      .deleter([owner = std::move(owner)](void*) {})
      .options(at::TensorOptions(scalar_type(dtype)).device(place))
      .target_device(place)
      .make_tensor();
}

}  // namespace penstock::torch
