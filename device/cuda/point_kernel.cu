// Runs a point pass over the clouds of a batch, with one block per cloud.
#include <cstdint>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <device/cuda/kernels.hpp>
#include <device/cuda/launch.cuh>
#include <device/passes.hpp>
#include <device/point_team.hpp>

namespace penstock {
namespace {

constexpr unsigned kThreads = 512;
constexpr unsigned kWarp = 32;
constexpr unsigned kWarps = kThreads / kWarp;
constexpr unsigned kAll = ~0U;

struct BlockMemory {
  point_team::Shared shared;
  float largest[kWarps];
  unsigned counts[kWarps];
};

// Invariant: before a method returns, all threads have read `memory` and passed a barrier, because the next call writes
// it.
class Block {
 public:
  __device__ explicit Block(BlockMemory& memory) : memory_(memory) {}
  __device__ unsigned rank() const { return threadIdx.x; }
  __device__ unsigned size() const { return kThreads; }
  __device__ void sync() const { __syncthreads(); }
  __device__ point_team::Shared& shared() { return memory_.shared; }

  __device__ float largest(float value) {
    for (unsigned step = kWarp / 2; step > 0; step /= 2) value = fmaxf(value, __shfl_down_sync(kAll, value, step));
    if (rank() % kWarp == 0) memory_.largest[rank() / kWarp] = value;
    __syncthreads();
    float largest = memory_.largest[0];
    for (unsigned warp = 1; warp < kWarps; ++warp) largest = fmaxf(largest, memory_.largest[warp]);
    __syncthreads();
    return largest;
  }

  __device__ unsigned before(bool counted, unsigned& total) {
    const unsigned votes = __ballot_sync(kAll, counted), lane = rank() % kWarp, warp = rank() / kWarp;
    if (lane == 0) memory_.counts[warp] = static_cast<unsigned>(__popc(votes));
    __syncthreads();
    unsigned ahead = static_cast<unsigned>(__popc(votes & ((1U << lane) - 1U)));
    total = 0;
    for (unsigned w = 0; w < kWarps; ++w) {
      if (w < warp) ahead += memory_.counts[w];
      total += memory_.counts[w];
    }
    __syncthreads();
    return ahead;
  }

 private:
  BlockMemory& memory_;
};

__device__ void put_as(float* to, float value) {
  *to = value;
}
__device__ void put_as(double* to, float value) {
  *to = static_cast<double>(value);
}
__device__ void put_as(__half* to, float value) {
  *to = __float2half_rn(value);
}
__device__ void put_as(__nv_bfloat16* to, float value) {
  *to = __float2bfloat16_rn(value);
}

template <typename Out>
struct Put {
  __device__ void operator()(void* out, std::int64_t at, float value) const {
    put_as(static_cast<Out*>(out) + at, value);
  }
};

template <typename Out>
__global__ void __launch_bounds__(kThreads) point_kernel(const __grid_constant__ PointPass pass) {
  __shared__ BlockMemory memory;
  Block team(memory);
  point_team::run(team, pass, blockIdx.x, Put<Out>{});
}

template <typename Out>
void launch_as(const PointPass& pass, cudaStream_t stream) {
  launch_team_kernel(point_kernel<Out>, static_cast<unsigned>(pass.clouds), kThreads, stream, pass);
}

}  // namespace

void launch(const PointPass& pass, CUstream_st* stream) {
  switch (pass.dtype) {
    case DType::f16:
      return launch_as<__half>(pass, stream);
    case DType::bf16:
      return launch_as<__nv_bfloat16>(pass, stream);
    case DType::f64:
      return launch_as<double>(pass, stream);
    default:
      return launch_as<float>(pass, stream);
  }
}

}  // namespace penstock
