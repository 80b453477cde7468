// The points of a batch in one pass, a block for each cloud; where a cloud becomes a unit sphere, its points are looked
// at once more before.
#include <cstdint>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <penstock/device/kernels.hpp>
#include <penstock/device/pass_math.hpp>

namespace penstock {
namespace {

constexpr int kThreads = 512;
constexpr int kWarp = 32;

using pass_math::Point;

__device__ void put(float* to, float value) {
  *to = value;
}
__device__ void put(__half* to, float value) {
  *to = __float2half_rn(value);
}
__device__ void put(__nv_bfloat16* to, float value) {
  *to = __float2bfloat16_rn(value);
}

__device__ const float* row_of(const PointPass& pass, std::int64_t cloud, std::int64_t i) {
  const std::int64_t at = pass.numbers != nullptr ? pass.numbers[cloud * pass.points + i] : i;
  return pass.in + (cloud * pass.in_points + at) * pass.columns;
}

__device__ float largest_of_block(float value) {
  __shared__ float warps[kThreads / kWarp];
  for (int step = kWarp / 2; step > 0; step /= 2) value = fmaxf(value, __shfl_down_sync(~0U, value, step));
  if (threadIdx.x % kWarp == 0) warps[threadIdx.x / kWarp] = value;
  __syncthreads();
  float largest = warps[0];
  for (int w = 1; w < kThreads / kWarp; ++w) largest = fmaxf(largest, warps[w]);
  return largest;
}

__device__ float shrink_of(const PointPass& pass, std::int64_t cloud) {
  float longest = 0;
  for (std::int64_t i = threadIdx.x; i < pass.points; i += kThreads) {
    const float* row = row_of(pass, cloud, i);
    longest = fmaxf(longest, pass_math::square_of_length({row[0], row[1], row[2]}));
  }
  longest = largest_of_block(longest);
  return longest > 0 && isfinite(longest) ? 1.0F / sqrtf(longest) : 1.0F;
}

template <typename Out>
__global__ void __launch_bounds__(kThreads) point_kernel(PointPass pass) {
  const std::int64_t cloud = blockIdx.x;
  const float shrink = pass.unit ? shrink_of(pass, cloud) : 1.0F;
  const float* rotation = pass.rotations != nullptr ? pass.rotations + 9 * cloud : nullptr;
  auto* out = static_cast<Out*>(pass.out) + cloud * pass.points * pass.columns;
  for (std::int64_t i = threadIdx.x; i < pass.points; i += kThreads) {
    const float* row = row_of(pass, cloud, i);
    Point p{row[0], row[1], row[2]};
    if (pass.unit) p = {p.x * shrink, p.y * shrink, p.z * shrink};
    if (rotation != nullptr) p = pass_math::turned(p, rotation);
    if (pass.sigma != 0) {
      const Point draw = pass_math::normals(pass.seed, pass.keys[cloud], static_cast<std::uint32_t>(i));
      p.x += pass_math::clamped(pass.sigma * draw.x, pass.clip);
      p.y += pass_math::clamped(pass.sigma * draw.y, pass.clip);
      p.z += pass_math::clamped(pass.sigma * draw.z, pass.clip);
    }
    Out* to = out + i * pass.columns;
    put(to, p.x);
    put(to + 1, p.y);
    put(to + 2, p.z);
    for (int c = 3; c < pass.columns; ++c) put(to + c, row[c]);
  }
}

template <typename Out>
void launch_as(const PointPass& pass, cudaStream_t stream) {
  point_kernel<Out><<<static_cast<unsigned>(pass.clouds), kThreads, 0, stream>>>(pass);
}

}  // namespace

void launch(const PointPass& pass, CUstream_st* stream) {
  switch (pass.dtype) {
    case DType::f16:
      return launch_as<__half>(pass, stream);
    case DType::bf16:
      return launch_as<__nv_bfloat16>(pass, stream);
    default:
      return launch_as<float>(pass, stream);
  }
}

}  // namespace penstock
