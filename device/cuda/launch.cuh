// Launches kernels. No other file does so, and only .cu files include this one. tests/device/cuda_on_host.hpp has the
// same functions for a host compiler, which accepts the same kernels but not the launch syntax.
#pragma once

#include <type_traits>

#ifdef __CUDACC__
#include <cuda_runtime_api.h>

namespace penstock {

/// Enqueues a kernel whose threads never wait for each other. Its single parameter is copied. cudaGetLastError() then
/// returns the result of the launch.
template <typename Pass>
void launch_kernel(void (*kernel)(Pass), dim3 grid, unsigned threads, cudaStream_t stream,
                   const std::type_identity_t<Pass>& pass) {
  kernel<<<grid, threads, 0, stream>>>(pass);
}

/// The same for a kernel whose threads synchronise: __syncthreads(), shuffles and votes.
template <typename Pass>
void launch_team_kernel(void (*kernel)(Pass), dim3 grid, unsigned threads, cudaStream_t stream,
                        const std::type_identity_t<Pass>& pass) {
  kernel<<<grid, threads, 0, stream>>>(pass);
}

}  // namespace penstock
#endif
