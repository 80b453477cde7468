// Where no CUDA is installed: what of its headers the kernels need to be compiled by a processor's compiler.
#pragma once

#define __host__
#define __device__
#define __global__
#define __shared__
#define __grid_constant__

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  constexpr dim3(unsigned of_x = 1, unsigned of_y = 1, unsigned of_z = 1) : x(of_x), y(of_y), z(of_z) {}
  unsigned x, y, z;
};
using cudaStream_t = struct CUstream_st*;
