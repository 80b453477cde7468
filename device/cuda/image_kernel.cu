// Runs an image pass over a batch. Memory bandwidth is the limit, so each thread stores 16 consecutive bytes of an
// array (8 of uint8).
#include <cstdint>
#include <type_traits>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <device/cuda/kernels.hpp>
#include <device/cuda/launch.cuh>
#include <device/passes.hpp>

namespace penstock {
namespace {

constexpr int kThreads = 256;
/// Number of values that a thread stores together.
template <typename Out>
constexpr int kTogether = sizeof(Out) == 1 ? 8 : 16 / sizeof(Out);

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

/// Loads bytes from `from`, K at a time if the address is aligned.
template <int K, int kCount>
__device__ void load(const std::uint8_t* from, std::uint8_t (&levels)[kCount]) {
  using Word = std::conditional_t<K == 4, std::uint32_t, std::uint64_t>;
  static_assert(sizeof(Word) == K && kCount % K == 0);
  if (reinterpret_cast<std::uintptr_t>(from) % K == 0) {
    const auto* words = reinterpret_cast<const Word*>(from);
#pragma unroll
    for (int w = 0; w < kCount / K; ++w) {
      const Word word = __ldg(words + w);
#pragma unroll
      for (int b = 0; b < K; ++b) levels[K * w + b] = static_cast<std::uint8_t>(word >> (8 * b));
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < kCount; ++i) levels[i] = __ldg(from + i);
}

/// Stores elements to `to`, all together if the address is aligned.
template <typename Out, int K>
__device__ void store(Out* to, const Pack<Out, K>& values) {
  if (reinterpret_cast<std::uintptr_t>(to) % sizeof(values) == 0) {
    *reinterpret_cast<Pack<Out, K>*>(to) = values;
    return;
  }
#pragma unroll
  for (int i = 0; i < K; ++i) to[i] = values.values[i];
}

/// An output line of an image: its first byte in the input, and whether it is read backwards.
struct Line {
  const std::uint8_t* in;
  bool flip;
};

template <int C>
__device__ Line line_of(const ImagePass& pass, std::int64_t n, int y) {
  const ImageCrop crop = pass.crops != nullptr ? pass.crops[n] : ImageCrop{};
  return {pass.in + ((n * pass.in_height + crop.y + y) * pass.in_width + crop.x) * C, crop.flip != 0};
}

/// Each thread computes K pixels of a line, and stores K values in each plane.
template <typename Out, int C>
__global__ void __launch_bounds__(kThreads) planes_kernel(ImagePass pass) {
  constexpr int K = kTogether<Out>;
  const int parts = (pass.width + K - 1) / K;
  const int place = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (place >= parts * pass.height) return;
  const int y = place / parts, x = (place - y * parts) * K;
  const std::int64_t n = blockIdx.y;
  const Line line = line_of<C>(pass, n, y);
  const std::int64_t plane = std::int64_t{pass.height} * pass.width;
  Out* out = static_cast<Out*>(pass.out) + n * C * plane + std::int64_t{y} * pass.width + x;
  if (x + K <= pass.width) {
    std::uint8_t levels[K * C];
    load<K>(line.in + (line.flip ? pass.width - x - K : x) * C, levels);
#pragma unroll
    for (int c = 0; c < C; ++c) {
      Pack<Out, K> values;
#pragma unroll
      for (int i = 0; i < K; ++i) {
        const std::uint8_t level = line.flip ? levels[(K - 1 - i) * C + c] : levels[i * C + c];
        values.values[i] = converted<Out>(level, pass.scale[c], pass.bias[c]);
      }
      store(out + c * plane, values);
    }
    return;
  }
  for (int i = 0; x + i < pass.width; ++i) {
    const std::uint8_t* pixel = line.in + (line.flip ? pass.width - 1 - x - i : x + i) * C;
#pragma unroll
    for (int c = 0; c < C; ++c) out[c * plane + i] = converted<Out>(__ldg(pixel + c), pass.scale[c], pass.bias[c]);
  }
}

/// Each thread computes K consecutive values of a line, which may belong to different channels.
template <typename Out, int C>
__global__ void __launch_bounds__(kThreads) channels_last_kernel(ImagePass pass) {
  constexpr int K = kTogether<Out>;
  const int width = pass.width * C, parts = (width + K - 1) / K;
  const int place = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (place >= parts * pass.height) return;
  const int y = place / parts, x = (place - y * parts) * K, count = min(K, width - x);
  const std::int64_t n = blockIdx.y;
  const Line line = line_of<C>(pass, n, y);
  const int channel = x % C;
  float scale[C], bias[C];  // rotated: starts at this thread's first channel
#pragma unroll
  for (int i = 0; i < C; ++i) {
    const int c = channel + i < C ? channel + i : channel + i - C;
#pragma unroll
    for (int each = 0; each < C; ++each) {
      if (c == each) scale[i] = pass.scale[each], bias[i] = pass.bias[each];
    }
  }
  std::uint8_t levels[K] = {};
  if (count == K && !line.flip) {
    load<K>(line.in + x, levels);
  } else {
#pragma unroll
    for (int i = 0; i < K; ++i) {
      const int of_pixel = (channel + i) % C;  // offset from the first byte of a mirrored pixel
      const int from = line.flip ? width - C - (x + i - of_pixel) + of_pixel : x + i;
      if (i < count) levels[i] = __ldg(line.in + from);
    }
  }
  Pack<Out, K> values;
#pragma unroll
  for (int i = 0; i < K; ++i) values.values[i] = converted<Out>(levels[i], scale[i % C], bias[i % C]);
  Out* out = static_cast<Out*>(pass.out) + (n * pass.height + y) * width + x;
  if (count == K) return store(out, values);
#pragma unroll
  for (int i = 0; i < K; ++i) {
    if (i < count) out[i] = values.values[i];
  }
}

template <typename Out, int C>
void launch_as(const ImagePass& pass, cudaStream_t stream) {
  constexpr int K = kTogether<Out>;
  const std::int64_t width = std::int64_t{pass.width} * (pass.channels_last ? C : 1);
  const std::int64_t places = (width + K - 1) / K * pass.height;
  const dim3 grid(static_cast<unsigned>((places + kThreads - 1) / kThreads), static_cast<unsigned>(pass.rows));
  launch_kernel(pass.channels_last ? channels_last_kernel<Out, C> : planes_kernel<Out, C>, grid, kThreads, stream, pass);
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
