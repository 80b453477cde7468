// In the place of libnvjpeg: the calls that device/cuda/nvjpeg.cpp makes, in the order of streams of CUDA's stand-in,
// with the loader's own decoder. The hardware engine begins at once, whatever the stream still has to do. Source:
// nvJPEG 13.0, "Single Phase Decode API" and "Batched Decoding".
#include "fake_nvjpeg.hpp"

#include <chrono>
#include <cstddef>
#include <cstring>
#include <functional>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <cuda_runtime_api.h>

#include <device/cuda/nvjpeg_calls.hpp>
#include <device/host/host_queue.hpp>
#include <penstock/codec.hpp>
#include <penstock/error.hpp>

#include "fake_cuda.hpp"

namespace nv = penstock::nvjpeg;
using nv::Status;
using penstock::test::fake_nvjpeg;
namespace cuda = penstock::test::cuda;

namespace {

using Bytes = std::span<const unsigned char>;

/// Of a frame's header. Source: ITU-T T.81, B.2.2.
struct Frame {
  unsigned width, height, components;
  bool progressive;
};

/// Nothing but success, where a frame was found.
Status find_frame(Bytes jpeg, Frame& frame) {
  if (jpeg.size() < 4 || jpeg[0] != 0xff || jpeg[1] != 0xd8) return Status::bad_jpeg;
  for (std::size_t at = 2; at + 10 <= jpeg.size() && jpeg[at] == 0xff;) {
    const unsigned kind = jpeg[at + 1];
    const auto two = [&](std::size_t from) { return 256U * jpeg[at + from] + jpeg[at + from + 1]; };
    if (kind >= 0xc0 && kind <= 0xc2) {
      frame = {two(7), two(5), jpeg[at + 9], kind == 0xc2};
      return Status::success;
    }
    at += 2 + two(2);
  }
  return Status::bad_jpeg;
}

/// Pixels as the processor has them, row by row; throws what the processor does.
std::vector<std::byte> pixels_of(Bytes jpeg) {
  const penstock::FieldSchema schema{.name = "jpeg", .codec = "jpeg"};
  const auto decoder = penstock::codec_named("jpeg")->decoder(schema);
  const penstock::FieldBytes field{.schema = &schema, .bytes = std::as_bytes(jpeg)};
  const penstock::Layout layout = decoder->peek(field);
  std::vector<std::byte> pixels(penstock::element_count(layout.shape));
  decoder->decode(field, nullptr, {pixels.data(), penstock::DType::u8, layout.shape});
  return pixels;
}

/// One image; what its bytes are when its turn has come is decoded.
struct Task {
  Bytes jpeg;
  nv::Image target;

  void run() const {
    std::this_thread::sleep_for(std::chrono::microseconds(fake_nvjpeg.microseconds));
    Frame frame{};
    if (find_frame(jpeg, frame) != Status::success) {
      cuda::complain("a JPEG that was written over before it was decoded");
    } else {
      const std::vector<std::byte> pixels = pixels_of(jpeg);
      for (std::size_t y = 0; y < frame.height; ++y) {
        std::memcpy(target.channel[0] + y * target.pitch[0], &pixels[3 * y * frame.width],
                    std::size_t{3} * frame.width);
      }
      ++fake_nvjpeg.images;
    }
  }
};

Status refused(const std::atomic<int>& status) {
  return static_cast<Status>(status.load());
}

}  // namespace

struct penstock::nvjpeg::NvJpegHandle {
  Backend backend;
  CUcontext context;
  HostQueue engine;
};
struct penstock::nvjpeg::NvJpegState {
  Handle handle;
  int size = 0;
  std::shared_ptr<std::atomic<int>> waiting = std::make_shared<std::atomic<int>>(0);  ///< images
  std::list<std::function<void()>> work = {};
  std::atomic<bool> busy{false};
};
struct penstock::nvjpeg::NvJpegStream {
  Handle handle;
  Frame frame{};
  std::atomic<bool> busy{false};
};

namespace {

void require_context(const nv::Handle handle, const char* call) {
  if (cuda::current_context() == handle->context) return;
  cuda::complain(std::string(call) + " in another context than its handle's");
}

/// One thread at a time.
class Alone {
 public:
  Alone(std::atomic<bool>& busy, const char* call) : busy_(busy) {
    if (busy_.exchange(true)) cuda::complain(std::string(call) + " in two threads at once");
  }
  ~Alone() { busy_ = false; }
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;

 private:
  std::atomic<bool>& busy_;
};

constexpr auto kFailed = static_cast<Status>(6);  // NVJPEG_STATUS_EXECUTION_FAILED

/// In the stream's order. The work lives as long as the state, or until nothing is left to do.
bool enqueue(nv::NvJpegState& state, cudaStream_t stream, std::function<void()> work) {
  state.work.push_back(std::move(work));
  const auto run = [](void* data) { (*static_cast<std::function<void()>*>(data))(); };
  return cudaLaunchHostFunc(stream, run, &state.work.back()) == cudaSuccess;
}

Status status_of(Bytes jpeg) {
  try {
    pixels_of(jpeg);
    return Status::success;
  } catch (const penstock::Error&) {
    return Status::bad_jpeg;
  }
}

}  // namespace

extern "C" {

Status nvjpegGetProperty(int type, int* value) {
  constexpr int kVersion[] = {13, 0, 1};
  *value = kVersion[type];
  return Status::success;
}

Status nvjpegCreateEx(nv::Backend backend, void* device_memory, void* pinned_memory, unsigned, nv::Handle* handle) {
  const CUcontext here = cuda::current_context();
  if (here == nullptr || device_memory != nullptr || pinned_memory != nullptr) cuda::complain("nvjpegCreateEx");
  if (fake_nvjpeg.refuse_handle != 0) return refused(fake_nvjpeg.refuse_handle);
  if (backend == nv::Backend::hardware && !fake_nvjpeg.hardware) return Status::arch_mismatch;
  *handle = new nv::NvJpegHandle{backend, here, {}};
  ++fake_nvjpeg.handles;
  return Status::success;
}

Status nvjpegDestroy(nv::Handle handle) {
  require_context(handle, "nvjpegDestroy");
  --fake_nvjpeg.handles;
  delete handle;
  return Status::success;
}

Status nvjpegJpegStateCreate(nv::Handle handle, nv::JpegState* state) {
  require_context(handle, "nvjpegJpegStateCreate");
  if (fake_nvjpeg.refuse_state != 0) return refused(fake_nvjpeg.refuse_state);
  *state = new nv::NvJpegState{handle};
  ++fake_nvjpeg.states;
  return Status::success;
}

Status nvjpegJpegStateDestroy(nv::JpegState state) {
  require_context(state->handle, "nvjpegJpegStateDestroy");
  if (*state->waiting != 0 && !cuda::failed(state->handle->context))
    cuda::complain("a state that ends while it decodes");
  --fake_nvjpeg.states;
  delete state;
  return Status::success;
}

Status nvjpegJpegStreamCreate(nv::Handle handle, nv::JpegStream* stream) {
  require_context(handle, "nvjpegJpegStreamCreate");
  if (fake_nvjpeg.refuse_stream != 0) return refused(fake_nvjpeg.refuse_stream);
  *stream = new nv::NvJpegStream{handle};
  ++fake_nvjpeg.streams;
  return Status::success;
}

Status nvjpegJpegStreamDestroy(nv::JpegStream stream) {
  require_context(stream->handle, "nvjpegJpegStreamDestroy");
  --fake_nvjpeg.streams;
  delete stream;
  return Status::success;
}

Status nvjpegJpegStreamParseHeader(nv::Handle handle, const unsigned char* data, std::size_t length,
                                   nv::JpegStream stream) {
  const Alone alone(stream->busy, "nvjpegJpegStreamParseHeader");
  require_context(handle, "nvjpegJpegStreamParseHeader");
  return find_frame({data, length}, stream->frame);
}

Status nvjpegJpegStreamGetFrameDimensions(nv::JpegStream stream, unsigned* width, unsigned* height) {
  const Alone alone(stream->busy, "nvjpegJpegStreamGetFrameDimensions");
  *width = stream->frame.width, *height = stream->frame.height;
  return Status::success;
}

Status nvjpegJpegStreamGetComponentsNum(nv::JpegStream stream, unsigned* count) {
  const Alone alone(stream->busy, "nvjpegJpegStreamGetComponentsNum");
  *count = stream->frame.components;
  return Status::success;
}

Status nvjpegDecodeBatchedSupported(nv::Handle handle, nv::JpegStream stream, int* not_supported) {
  const Alone alone(stream->busy, "nvjpegDecodeBatchedSupported");
  require_context(handle, "nvjpegDecodeBatchedSupported");
  *not_supported = handle->backend == nv::Backend::hardware && stream->frame.progressive ? 1 : 0;
  return Status::success;
}

Status nvjpegDecodeBatchedInitialize(nv::Handle handle, nv::JpegState state, int size, int threads, int format) {
  const Alone alone(state->busy, "nvjpegDecodeBatchedInitialize");
  require_context(handle, "nvjpegDecodeBatchedInitialize");
  if (size < 1 || threads < 1 || format != nv::kInterleavedRgb) cuda::complain("nvjpegDecodeBatchedInitialize");
  state->size = 0;
  if (fake_nvjpeg.refuse_begin != 0) return refused(fake_nvjpeg.refuse_begin);
  state->size = size;
  return Status::success;
}

Status nvjpegDecodeBatched(nv::Handle handle, nv::JpegState state, const unsigned char* const* data,
                           const std::size_t* lengths, nv::Image* images, nv::CudaStream stream) {
  const Alone alone(state->busy, "nvjpegDecodeBatched");
  require_context(handle, "nvjpegDecodeBatched");
  if (state->size == 0) cuda::complain("nvjpegDecodeBatched of a batch that was not begun");
  if (fake_nvjpeg.refuse_batch != 0) return refused(fake_nvjpeg.refuse_batch);
  if (*state->waiting == 0) state->work.clear();
  for (std::size_t i = 0; i < static_cast<std::size_t>(state->size); ++i) {
    const Bytes jpeg(data[i], lengths[i]);
    if (const Status status = status_of(jpeg); status != Status::success) return status;
    ++*state->waiting;
    const Task task{jpeg, images[i]};
    std::function<void()> in_stream = [task, waiting = state->waiting] {
      task.run();
      --*waiting;
    };
    if (handle->backend == nv::Backend::hardware) {
      const auto done = std::make_shared<penstock::HostMark>();
      handle->engine.push([task, done] {
        task.run();
        done->reach({});
      });
      in_stream = [done, waiting = state->waiting] {
        done->wait();
        --*waiting;
      };
    }
    if (!enqueue(*state, stream, std::move(in_stream))) return kFailed;
  }
  return Status::success;
}

}  // extern "C"
