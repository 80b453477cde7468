// Starts kernels; no other file does so, and only .cu files include it. tests/device/cuda_on_host.hpp has the same
// functions for a processor's compiler, which takes the same kernels but not this syntax.
#pragma once

#include <type_traits>

#ifdef __CUDACC__
#include <cuda_runtime_api.h>

namespace penstock {

/// Enqueues a kernel of one parameter, copied, whose threads never wait for each other; cudaGetLastError() then tells
/// whether that worked.
template <typename Pass>
void launch_kernel(void (*kernel)(Pass), dim3 grid, unsigned threads, cudaStream_t stream,
                   const std::type_identity_t<Pass>& pass) {
  kernel<<<grid, threads, 0, stream>>>(pass);
}

/// The same for a kernel whose threads meet at barriers, or ask each other: __syncthreads(), shuffles and votes.
template <typename Pass>
void launch_team_kernel(void (*kernel)(Pass), dim3 grid, unsigned threads, cudaStream_t stream,
                        const std::type_identity_t<Pass>& pass) {
  kernel<<<grid, threads, 0, stream>>>(pass);
}

}  // namespace penstock
#endif
