// What a test says to fake_cudart*.cpp and hears from them: CUDA's runtime over devices that are threads of the system
// and ordinary memory. It is as asynchronous as the real one, and less forgiving: what works there by chance, or by
// beginning a context on a device that nobody asked for, is a complaint here.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

using CUcontext = struct CUctx_st*;

namespace penstock::test::cuda {

constexpr int kDevices = 3;

/// As a process is before its first call: no contexts. Throws std::logic_error, where anything is alive.
void begin_anew();

/// What should not have been done: calls without a current context, objects used in another context than theirs, after
/// their end or ended twice, copies outside of memory, memory given back while a copy uses it, ...
std::vector<std::string> complaints();
void complain(const std::string& what);  ///< for libraries that stand beside the runtime

std::vector<int> devices_with_context();

struct Alive {
  std::size_t streams, events, allocations, registrations;
  friend bool operator==(const Alive&, const Alive&) = default;
};
Alive alive();

std::uint64_t copies_of_plain_memory();  ///< which are not asynchronous

/// The call of that name gives this, once, after so many that work.
void refuse(const char* call, cudaError_t error, int after = 0);
/// The next piece of work in the device's streams fails, and with it the device's context, for good.
void strike(int device, cudaError_t error);
/// Called by the thread of a stream before each piece of work.
void before_work(std::function<void()> call);

// The driver's, of this thread.
CUcontext current_context();
void make_current(CUcontext context);
CUcontext new_context(int device);  ///< a program's own, beside the one that the runtime begins
bool failed(CUcontext context);

}  // namespace penstock::test::cuda

/// For libraries that are loaded into programs without the stand-in, too.
extern "C" bool fake_cuda_has_context();
