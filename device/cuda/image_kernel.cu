// Runs an image pass over a batch. It is bound by memory: a thread takes four pixels of a line.
#include <cstdint>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <device/cuda/kernels.hpp>
#include <device/cuda/launch.cuh>

namespace penstock {
namespace {

constexpr int kPixels = 4;  // a thread's: 12 bytes of RGB are three words
constexpr int kThreads = 256;

template <typename Out>
__device__ Out converted(std::uint8_t level, float scale, float bias);
template <>
__device__ float converted<float>(std::uint8_t level, float scale, float bias) {
  return __fadd_rn(__fmul_rn(static_cast<float>(level), scale), bias);
}
template <>
__device__ __half converted<__half>(std::uint8_t level, float scale, float bias) {
  return __float2half_rn(converted<float>(level, scale, bias));
}
template <>
__device__ __nv_bfloat16 converted<__nv_bfloat16>(std::uint8_t level, float scale, float bias) {
  return __float2bfloat16_rn(converted<float>(level, scale, bias));
}
template <>
__device__ std::uint8_t converted<std::uint8_t>(std::uint8_t level, float, float) {
  return level;
}

template <typename T, int kCount>
struct alignas(sizeof(T) * kCount) Pack {
  T values[kCount];
};

/// `count` of kPixels pixels of C channels from `from`, four bytes at a time where they lie so.
template <int C>
__device__ void load(const std::uint8_t* from, int count, std::uint8_t (&levels)[kPixels * C]) {
  if (count == kPixels && reinterpret_cast<std::uintptr_t>(from) % 4 == 0) {
    const auto* words = reinterpret_cast<const std::uint32_t*>(from);
#pragma unroll
    for (int w = 0; w < C; ++w) {
      const std::uint32_t word = __ldg(words + w);
#pragma unroll
      for (int b = 0; b < 4; ++b) levels[4 * w + b] = static_cast<std::uint8_t>(word >> (8 * b));
    }
    return;
  }
  for (int i = 0; i < count * C; ++i) levels[i] = __ldg(from + i);
}

/// Elements to `to`, together where all are there and they lie so.
template <typename Out>
__device__ void store(Out* to, const Out (&values)[kPixels], int count) {
  using Four = Pack<Out, kPixels>;
  if (count == kPixels && reinterpret_cast<std::uintptr_t>(to) % sizeof(Four) == 0) {
    Four four;
#pragma unroll
    for (int i = 0; i < kPixels; ++i) four.values[i] = values[i];
    *reinterpret_cast<Four*>(to) = four;
    return;
  }
  for (int i = 0; i < count; ++i) to[i] = values[i];
}

template <typename Out, int C, bool kChannelsLast>
__global__ void __launch_bounds__(kThreads) image_kernel(ImagePass pass) {
  const int quads = (pass.width + kPixels - 1) / kPixels;
  const int place = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (place >= quads * pass.height) return;
  const int y = place / quads, x = (place - y * quads) * kPixels;
  const int count = min(kPixels, pass.width - x);
  const std::int64_t n = blockIdx.y;
  const ImageCrop crop = pass.crops != nullptr ? pass.crops[n] : ImageCrop{};
  const bool flip = crop.flip != 0;
  const int first = crop.x + (flip ? pass.width - x - count : x);  // leftmost input pixel of these

  std::uint8_t levels[kPixels * C] = {};
  load<C>(pass.in + ((n * pass.in_height + crop.y + y) * pass.in_width + first) * C, count, levels);
  Out pixels[C][kPixels];
#pragma unroll
  for (int i = 0; i < kPixels; ++i) {
    const int from = flip ? count - 1 - i : i;
#pragma unroll
    for (int c = 0; c < C; ++c) {
      std::uint8_t level = 0;
#pragma unroll
      for (int j = 0; j < kPixels; ++j) level = j == from ? levels[j * C + c] : level;  // keeps them in registers
      pixels[c][i] = converted<Out>(level, pass.scale[c], pass.bias[c]);
    }
  }

  auto* out = static_cast<Out*>(pass.out);
  if constexpr (kChannelsLast) {
    Out* to = out + ((n * pass.height + y) * pass.width + x) * C;
    if (count == kPixels) {
#pragma unroll
      for (int part = 0; part < C; ++part) {
        Out values[kPixels];
#pragma unroll
        for (int i = 0; i < kPixels; ++i) values[i] = pixels[(part * kPixels + i) % C][(part * kPixels + i) / C];
        store(to + part * kPixels, values, kPixels);
      }
    } else {
#pragma unroll
      for (int i = 0; i < kPixels; ++i) {
#pragma unroll
        for (int c = 0; c < C; ++c) {
          if (i < count) to[i * C + c] = pixels[c][i];
        }
      }
    }
  } else {
#pragma unroll
    for (int c = 0; c < C; ++c) store(out + ((n * C + c) * pass.height + y) * pass.width + x, pixels[c], count);
  }
}

template <typename Out, int C>
void launch_as(const ImagePass& pass, cudaStream_t stream) {
  const std::int64_t places = std::int64_t{(pass.width + kPixels - 1) / kPixels} * pass.height;
  const dim3 grid(static_cast<unsigned>((places + kThreads - 1) / kThreads), static_cast<unsigned>(pass.rows));
  if (pass.channels_last) {
    launch_kernel(image_kernel<Out, C, true>, grid, kThreads, stream, pass);
  } else {
    launch_kernel(image_kernel<Out, C, false>, grid, kThreads, stream, pass);
  }
}

template <typename Out>
void launch_of(const ImagePass& pass, cudaStream_t stream) {
  switch (pass.channels) {
    case 1:
      return launch_as<Out, 1>(pass, stream);
    case 3:
      return launch_as<Out, 3>(pass, stream);
    default:
      return launch_as<Out, 4>(pass, stream);
  }
}

}  // namespace

void launch(const ImagePass& pass, CUstream_st* stream) {
  switch (pass.dtype) {
    case DType::f16:
      return launch_of<__half>(pass, stream);
    case DType::bf16:
      return launch_of<__nv_bfloat16>(pass, stream);
    case DType::u8:
      return launch_of<std::uint8_t>(pass, stream);
    default:
      return launch_of<float>(pass, stream);
  }
}

}  // namespace penstock
