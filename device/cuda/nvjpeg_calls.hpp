// Declares the nvJPEG calls that penstock uses, because build machines rarely have its header.
// Source: nvjpeg.h of nvJPEG 12 and 13, which agree in all of these.
#pragma once

#include <cstddef>

#include <device/cuda/late_library.hpp>

namespace penstock::nvjpeg {

using Handle = struct NvJpegHandle*;
using JpegState = struct NvJpegState*;
using JpegStream = struct NvJpegStream*;
using CudaStream = struct CUstream_st*;

enum class Status : int { success = 0, bad_jpeg = 3, not_supported = 4, arch_mismatch = 7, no_implementation = 9 };
enum class Backend : int { cuda = 0, hardware = 3 };

constexpr int kInterleavedRgb = 5;  // NVJPEG_OUTPUT_RGBI

struct Image {
  unsigned char* channel[4];
  std::size_t pitch[4];
};

struct Calls {
  Status (*get_property)(int type, int* value) = nullptr;
  Status (*create)(Backend backend, void* device_memory, void* pinned_memory, unsigned flags, Handle* handle) = nullptr;
  Status (*destroy)(Handle handle) = nullptr;
  Status (*create_state)(Handle handle, JpegState* state) = nullptr;
  Status (*destroy_state)(JpegState state) = nullptr;
  Status (*create_stream)(Handle handle, JpegStream* stream) = nullptr;
  Status (*destroy_stream)(JpegStream stream) = nullptr;
  Status (*parse_header)(Handle handle, const unsigned char* data, std::size_t length, JpegStream stream) = nullptr;
  Status (*frame_size)(JpegStream stream, unsigned* width, unsigned* height) = nullptr;
  Status (*components)(JpegStream stream, unsigned* count) = nullptr;
  Status (*supported)(Handle handle, JpegStream stream, int* not_supported) = nullptr;  // 0: supported
  Status (*begin_batch)(Handle handle, JpegState state, int size, int threads, int format) = nullptr;
  Status (*decode_batch)(Handle handle, JpegState state, const unsigned char* const* data, const std::size_t* lengths,
                         Image* images, CudaStream stream) = nullptr;
};

using Library = LoadedLibrary<Calls>;
/// Loaded once per process.
const Library& library();

}  // namespace penstock::nvjpeg
