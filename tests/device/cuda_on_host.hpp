// What CUDA's compiler gives to kernels, for a processor's: tests/device/kernels_on_host.cmake includes this before the
// first line of device/*.cu, whose very source then runs in tests. A kernel is a loop over its blocks and threads; one
// whose threads meet is run by as many threads of the system, block after block.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <type_traits>

#include <cuda_runtime_api.h>  // the toolkit's; or, where there is none, that of cuda_absent/
#include <math.h>

#undef __launch_bounds__
#define __launch_bounds__(...)
#undef __shared__
#define __shared__ static  // one block at a time has it

inline thread_local uint3 threadIdx, blockIdx;
inline thread_local dim3 blockDim, gridDim;

namespace penstock::test {

/// Defined by the program: runs the kernel when its time in the stream has come.
void enqueue_kernel(cudaStream_t stream, std::function<void()> kernel);

void run_threads(dim3 grid, unsigned threads, const std::function<void()>& kernel);
void run_team(dim3 grid, unsigned threads, const std::function<void()>& kernel);

// These throw std::logic_error in a kernel that is none of a team, and where the mask is not that of a whole warp: the
// only one that penstock's kernels use.
void meet();
std::uint32_t value_of(unsigned mask, std::uint32_t mine, unsigned lanes_ahead);  ///< mine, behind the last lane
unsigned votes(unsigned mask, bool mine);

}  // namespace penstock::test

namespace penstock {

template <typename Pass>
void launch_kernel(void (*kernel)(Pass), dim3 grid, unsigned threads, cudaStream_t stream,
                   const std::type_identity_t<Pass>& pass) {
  test::enqueue_kernel(stream, [=] { test::run_threads(grid, threads, [&] { kernel(pass); }); });
}

template <typename Pass>
void launch_team_kernel(void (*kernel)(Pass), dim3 grid, unsigned threads, cudaStream_t stream,
                        const std::type_identity_t<Pass>& pass) {
  test::enqueue_kernel(stream, [=] { test::run_team(grid, threads, [&] { kernel(pass); }); });
}

}  // namespace penstock

using std::max;
using std::min;

template <typename T>
T __ldg(const T* from) {
  return *from;
}
inline float __fmul_rn(float a, float b) {  // without -ffp-contract, each is rounded
  return a * b;
}
inline float __fadd_rn(float a, float b) {
  return a + b;
}
inline int __popc(unsigned bits) {
  return std::popcount(bits);
}
inline void __syncthreads() {
  penstock::test::meet();
}
inline float __shfl_down_sync(unsigned mask, float value, unsigned lanes) {
  return std::bit_cast<float>(penstock::test::value_of(mask, std::bit_cast<std::uint32_t>(value), lanes));
}
inline unsigned __ballot_sync(unsigned mask, bool vote) {
  return penstock::test::votes(mask, vote);
}
