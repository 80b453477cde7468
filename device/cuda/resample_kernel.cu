// Crops and resizes decoded images; each thread computes one pixel. Repeated reads hit the caches, and decoding the
// images takes far longer than this kernel.
#include <device/cuda/kernels.hpp>
#include <device/cuda/launch.cuh>
#include <device/passes.hpp>
#include <device/resample_math.hpp>

namespace penstock {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads) resample_kernel(ResamplePass pass) {
  const int place = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (place >= pass.width * pass.height) return;
  const int y = place / pass.width;
  resample_math::write(pass, static_cast<std::int32_t>(blockIdx.y), place - y * pass.width, y);
}

}  // namespace

void launch(const ResamplePass& pass, CUstream_st* stream) {
  const std::int64_t places = std::int64_t{pass.width} * pass.height;
  const dim3 grid(static_cast<unsigned>((places + kThreads - 1) / kThreads), static_cast<unsigned>(pass.images));
  launch_kernel(resample_kernel, grid, kThreads, stream, pass);
}

}  // namespace penstock
