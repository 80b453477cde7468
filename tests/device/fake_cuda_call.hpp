// Defines what calls of CUDA's stand-in have in common.
#pragma once

#include "fake_cuda_state.hpp"

namespace penstock::test::cuda {

using Lock = std::unique_lock<std::mutex>;

inline cudaError_t noted(cudaError_t error) {
  if (error != cudaSuccess) this_thread().last = error;
  return error;
}

/// A call of the runtime that works in the thread's context: `work(context, lock)`.
template <typename Work>
cudaError_t in_context(const char* call, Work work) {
  State& all = state();
  Lock lock(all.mutex);
  if (const cudaError_t error = all.refusal(call); error != cudaSuccess) return noted(error);
  CUctx_st& here = all.context_here(call);
  if (here.failure != cudaSuccess) return noted(here.failure);
  return noted(work(here, lock));
}

/// A call that ends something: it does so where it fails, too, and where the context has failed.
template <typename Work>
cudaError_t in_any_context(const char* call, Work work) {
  State& all = state();
  Lock lock(all.mutex);
  CUctx_st& here = all.context_here(call);
  const cudaError_t refusal = all.refusal(call), error = work(here);
  if (here.failure != cudaSuccess) return noted(here.failure);
  return noted(refusal != cudaSuccess ? refusal : error);
}

}  // namespace penstock::test::cuda
