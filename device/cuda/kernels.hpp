// Declares the passes as CUDA kernels, for CudaDevice alone.
#pragma once

#include <device/passes.hpp>

struct CUstream_st;

namespace penstock {

/// Enqueue a checked pass on a stream of the current device; cudaGetLastError() then tells whether that worked.
void launch(const ImagePass& pass, CUstream_st* stream);
void launch(const PointPass& pass, CUstream_st* stream);
void launch(const ResamplePass& pass, CUstream_st* stream);

}  // namespace penstock
