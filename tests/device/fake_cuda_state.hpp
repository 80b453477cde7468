// The state inside CUDA's stand-in: devices, memory, streams, and who owns them.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include <device/host/host_queue.hpp>

#include "fake_cuda.hpp"

struct CUctx_st {
  int device = 0;
  cudaError_t failure = cudaSuccess;  ///< of work; every later call in this context gets it, and no work is done
  int working = 0;                    ///< pieces of work that streams are at
  bool failing = false;               ///< until they are through
  std::unique_ptr<penstock::HostQueue> default_queue = {};
  std::map<std::thread::id, std::unique_ptr<penstock::HostQueue>> thread_queues = {};
};

struct CUstream_st {
  CUctx_st* context;
  std::unique_ptr<penstock::HostQueue> queue;
  bool ended = false;
};

struct CUevent_st {
  CUctx_st* context;
  unsigned flags;
  std::shared_ptr<penstock::HostMark> mark = {};  ///< null: never recorded
  bool ended = false;
};

namespace penstock::test::cuda {

struct Piece {
  const std::byte* data;
  std::size_t bytes;
  bool holds(const Piece& other) const { return data <= other.data && other.data + other.bytes <= data + bytes; }
  bool meets(const Piece& other) const { return data < other.data + other.bytes && other.data < data + bytes; }
};

struct Allocation {
  Piece piece;
  CUctx_st* context;
  std::unique_ptr<std::byte, void (*)(std::byte*)> memory;
};

/// What one thread has of the runtime.
struct ThreadState {
  CUctx_st* current = nullptr;
  int device = 0;  ///< on which a context begins, where there is none
  cudaError_t last = cudaSuccess;
};
ThreadState& this_thread();

/// The mutex guards all of it.
struct State {
  std::mutex mutex;
  std::condition_variable changed;                  // working and failing of contexts
  std::vector<std::unique_ptr<CUctx_st>> contexts;  // those of programs too
  CUctx_st* primary[kDevices] = {};
  std::vector<std::unique_ptr<CUstream_st>> streams;  // those that ended too: no handle comes twice
  std::vector<std::unique_ptr<CUevent_st>> events;
  std::vector<Allocation> allocations;
  std::vector<Piece> registrations;
  std::multimap<std::uint64_t, Piece> in_copies;  // by the copy's number
  std::uint64_t copies = 0, plain_copies = 0;
  std::vector<std::string> complaints;
  std::map<std::string, std::pair<int, cudaError_t>> refusals;
  std::map<int, cudaError_t> strikes;
  std::function<void()> before_work;

  void complain(const std::string& what) { complaints.push_back(what); }
  cudaError_t refusal(const char* call);
  CUctx_st& begin(int device);
  CUctx_st& context_here(const char* call);
  HostQueue* queue(const char* call, cudaStream_t stream, CUctx_st& here);
  CUevent_st* event(const char* call, cudaEvent_t event, CUctx_st& here);
  /// Of this context, and all of these bytes.
  bool allocated(const Piece& piece, const CUctx_st& here) const;
  bool registered(const Piece& piece) const;
  bool in_copy(const Piece& piece) const;
  /// Whether a piece of work may begin; it may be the one that fails.
  bool begins(CUctx_st& context, std::unique_lock<std::mutex>& lock);
  void enqueue(HostQueue& queue, CUctx_st& context, std::vector<Piece> pieces, std::function<void()> work);
};
State& state();

}  // namespace penstock::test::cuda
