// Memory and copies of CUDA's stand-in. Source: CUDA Runtime API 13.0, "Memory Management".
#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "fake_cuda_call.hpp"

namespace penstock::test::cuda {
namespace {

constexpr std::size_t kPage = 4096;

Piece piece_of(const void* data, std::size_t bytes) {
  return {static_cast<const std::byte*>(data), bytes};
}

Piece pages_of(const Piece& piece) {
  const auto begin = reinterpret_cast<std::uintptr_t>(piece.data) / kPage * kPage;
  const auto end = (reinterpret_cast<std::uintptr_t>(piece.data) + piece.bytes + kPage - 1) / kPage * kPage;
  return {reinterpret_cast<const std::byte*>(begin), end - begin};
}

/// Plain memory is read at once, and written before the call returns, as the real one may.
cudaError_t copy(const char* call, void* to, const void* from, std::size_t bytes, bool in, cudaStream_t stream) {
  return in_context(call, [&](CUctx_st& here, Lock& lock) {
    State& all = state();
    HostQueue* const queue = all.queue(call, stream, here);
    if (queue == nullptr) return cudaErrorInvalidResourceHandle;
    const Piece device = piece_of(in ? to : from, bytes), host = piece_of(in ? from : to, bytes);
    if (!all.allocated(device, here)) {
      all.complain(std::string(call) + " beside the memory of its context");
      return cudaErrorInvalidValue;
    }
    if (all.registered(host)) {
      all.enqueue(*queue, here, {device, host}, [=] { std::memcpy(to, from, bytes); });
      return cudaSuccess;
    }
    ++all.plain_copies;
    if (in) {
      std::vector<std::byte> copied(host.data, host.data + bytes);
      all.enqueue(*queue, here, {device},
                  [to, copied = std::move(copied)] { std::memcpy(to, copied.data(), copied.size()); });
      return cudaSuccess;
    }
    const auto done = std::make_shared<HostMark>();
    all.enqueue(*queue, here, {device, host}, [=] { std::memcpy(to, from, bytes); });
    queue->push([done] { done->reach({}); });
    lock.unlock();
    done->wait();
    lock.lock();
    return here.failure;
  });
}

}  // namespace
}  // namespace penstock::test::cuda

using namespace penstock::test::cuda;

extern "C" {

cudaError_t cudaMalloc(void** data, std::size_t bytes) {
  return in_context("cudaMalloc", [&](CUctx_st& here, Lock&) {
    constexpr std::align_val_t kAlignment{256};
    auto* const made = static_cast<std::byte*>(::operator new(bytes, kAlignment));
    state().allocations.push_back(
        {{made, bytes}, &here, {made, [](std::byte* memory) { ::operator delete(memory, kAlignment); }}});
    *data = made;
    return cudaSuccess;
  });
}

cudaError_t cudaFree(void* data) {
  return in_any_context("cudaFree", [&](CUctx_st& here) {
    if (data == nullptr) return cudaSuccess;
    State& all = state();
    const auto found =
        std::ranges::find(all.allocations, data, [](const Allocation& each) { return each.memory.get(); });
    if (found == all.allocations.end() || found->context != &here) {
      all.complain("cudaFree of what its context has not");
      return cudaErrorInvalidValue;
    }
    if (here.failure == cudaSuccess && all.in_copy(found->piece))
      all.complain("cudaFree while a copy uses it");  // the real one would wait
    all.allocations.erase(found);
    return cudaSuccess;
  });
}

cudaError_t cudaHostRegister(void* data, std::size_t bytes, unsigned flags) {
  return in_context("cudaHostRegister", [&](CUctx_st&, Lock&) {
    State& all = state();
    const Piece pages = pages_of(piece_of(data, bytes));
    if (flags != cudaHostRegisterPortable) all.complain("cudaHostRegister for one context alone");
    for (const Piece& each : all.registrations) {
      if (pages_of(each).meets(pages)) return cudaErrorHostMemoryAlreadyRegistered;
    }
    all.registrations.push_back(piece_of(data, bytes));
    return cudaSuccess;
  });
}

cudaError_t cudaHostUnregister(void* data) {
  return in_any_context("cudaHostUnregister", [&](CUctx_st& here) {
    State& all = state();
    const auto found = std::ranges::find(all.registrations, data, &Piece::data);
    if (found == all.registrations.end()) {
      all.complain("cudaHostUnregister of what is not registered");
      return cudaErrorHostMemoryNotRegistered;
    }
    if (here.failure == cudaSuccess && all.in_copy(*found)) all.complain("cudaHostUnregister while a copy uses it");
    all.registrations.erase(found);
    return cudaSuccess;
  });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  if (kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToHost) return noted(cudaErrorInvalidMemcpyDirection);
  return copy("cudaMemcpyAsync", to, from, bytes, kind == cudaMemcpyHostToDevice, stream);
}

}  // extern "C"
