// Streams, events and kernels of CUDA's stand-in. Source: CUDA Runtime API 13.0, "Stream Management" and "Event
// Management".
#include <chrono>
#include <utility>

#include "cuda_on_host.hpp"
#include "fake_cuda_call.hpp"

namespace penstock::test {

void enqueue_kernel(cudaStream_t stream, std::function<void()> kernel) {
  using namespace cuda;
  in_context("kernel", [&](CUctx_st& here, Lock&) {
    HostQueue* const queue = state().queue("kernel", stream, here);
    if (queue == nullptr) return cudaErrorInvalidResourceHandle;
    state().enqueue(*queue, here, {}, std::move(kernel));
    return cudaSuccess;
  });
}

}  // namespace penstock::test

using namespace penstock;
using namespace penstock::test::cuda;

extern "C" {

cudaError_t cudaDeviceGetStreamPriorityRange(int* lowest, int* highest) {
  return in_context("cudaDeviceGetStreamPriorityRange", [&](CUctx_st&, Lock&) {
    *lowest = 0, *highest = -5;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return in_context("cudaStreamCreateWithPriority", [&](CUctx_st& here, Lock&) {
    State& all = state();
    if (flags != cudaStreamNonBlocking) all.complain("a stream that the default stream waits for");
    if (priority < -5 || priority > 0) all.complain("a priority that no stream has");
    all.streams.push_back(std::make_unique<CUstream_st>(&here, std::make_unique<HostQueue>()));
    *stream = all.streams.back().get();
    return cudaSuccess;
  });
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return in_any_context("cudaStreamDestroy", [&](CUctx_st& here) {
    HostQueue* const queue = state().queue("cudaStreamDestroy", stream, here);
    if (queue == nullptr) return cudaErrorInvalidResourceHandle;
    queue->close();
    stream->ended = true;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  return in_context("cudaStreamWaitEvent", [&](CUctx_st& here, Lock&) {
    HostQueue* const queue = state().queue("cudaStreamWaitEvent", stream, here);
    const CUevent_st* const found = state().event("cudaStreamWaitEvent", event, here);
    if (queue == nullptr || found == nullptr) return cudaErrorInvalidResourceHandle;
    if (found->mark != nullptr) queue->push([mark = found->mark] { mark->wait(); });
    return cudaSuccess;
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return in_context("cudaStreamSynchronize", [&](CUctx_st& here, Lock& lock) {
    HostQueue* const queue = state().queue("cudaStreamSynchronize", stream, here);
    if (queue == nullptr) return cudaErrorInvalidResourceHandle;
    lock.unlock();
    queue->drain();
    lock.lock();
    return here.failure;
  });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  return in_context("cudaLaunchHostFunc", [&](CUctx_st& here, Lock&) {
    HostQueue* const queue = state().queue("cudaLaunchHostFunc", stream, here);
    if (queue == nullptr) return cudaErrorInvalidResourceHandle;
    state().enqueue(*queue, here, {}, [=] { function(data); });
    return cudaSuccess;
  });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return in_context("cudaEventCreateWithFlags", [&](CUctx_st& here, Lock&) {
    state().events.push_back(std::make_unique<CUevent_st>(&here, flags));
    *event = state().events.back().get();
    return cudaSuccess;
  });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return in_any_context("cudaEventDestroy", [&](CUctx_st& here) {
    CUevent_st* const found = state().event("cudaEventDestroy", event, here);
    if (found == nullptr) return cudaErrorInvalidResourceHandle;
    found->ended = true;
    return cudaSuccess;
  });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return in_context("cudaEventRecord", [&](CUctx_st& here, Lock&) {
    HostQueue* const queue = state().queue("cudaEventRecord", stream, here);
    CUevent_st* const found = state().event("cudaEventRecord", event, here);
    if (queue == nullptr || found == nullptr) return cudaErrorInvalidResourceHandle;
    found->mark = std::make_shared<HostMark>();
    queue->push([mark = found->mark] { mark->reach({}); });
    return cudaSuccess;
  });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return in_context("cudaEventQuery", [&](CUctx_st& here, Lock&) {
    const CUevent_st* const found = state().event("cudaEventQuery", event, here);
    if (found == nullptr) return cudaErrorInvalidResourceHandle;
    return found->mark == nullptr || found->mark->reached() ? cudaSuccess : cudaErrorNotReady;
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return in_context("cudaEventSynchronize", [&](CUctx_st& here, Lock& lock) {
    const CUevent_st* const found = state().event("cudaEventSynchronize", event, here);
    if (found == nullptr) return cudaErrorInvalidResourceHandle;
    if ((found->flags & cudaEventBlockingSync) == 0) state().complain("cudaEventSynchronize keeps a core busy");
    const auto mark = found->mark;
    lock.unlock();
    if (mark != nullptr) mark->wait();
    lock.lock();
    return here.failure;
  });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  return in_context("cudaEventElapsedTime", [&](CUctx_st& here, Lock&) {
    const CUevent_st* const begun = state().event("cudaEventElapsedTime", from, here);
    const CUevent_st* const ended = state().event("cudaEventElapsedTime", to, here);
    if (begun == nullptr || ended == nullptr || begun->mark == nullptr || ended->mark == nullptr ||
        ((begun->flags | ended->flags) & cudaEventDisableTiming) != 0) {
      return cudaErrorInvalidResourceHandle;
    }
    if (!begun->mark->reached() || !ended->mark->reached()) return cudaErrorNotReady;
    const std::chrono::duration<float, std::milli> time = ended->mark->when() - begun->mark->when();
    *milliseconds = time.count();
    return cudaSuccess;
  });
}

}  // extern "C"
