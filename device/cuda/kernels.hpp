// Declares the passes as CUDA kernels. Only CudaDevice uses them.
#pragma once

#include <device/passes.hpp>

struct CUstream_st;

namespace penstock {

/// Enqueues a checked pass on a stream of the current device. cudaGetLastError() then returns the result of the launch.
void launch(const ImagePass& pass, CUstream_st* stream);
void launch(const PointPass& pass, CUstream_st* stream);
void launch(const ResamplePass& pass, CUstream_st* stream);

}  // namespace penstock
