#include "fake_cuda.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "fake_cuda_state.hpp"

namespace penstock::test::cuda {
namespace {

/// One that was not ended; complains of others.
template <typename Object>
Object* sound(State& state, const std::vector<std::unique_ptr<Object>>& all, Object* wanted, const std::string& call,
              const CUctx_st& here) {
  const auto found = std::ranges::find(all, wanted, [](const auto& each) { return each.get(); });
  const char* wrong = nullptr;
  if (found == all.end())
    wrong = " of something that was never made";
  else if (wanted->ended)
    wrong = " of something that has ended";
  else if (wanted->context != &here)
    wrong = " of something that another context has";
  if (wrong == nullptr) return wanted;
  state.complain(call + wrong);
  return nullptr;
}

/// When their work is done.
void end_threads() {
  State& all = state();
  std::unique_lock lock(all.mutex);
  auto contexts = std::exchange(all.contexts, {});
  std::vector<std::unique_ptr<HostQueue>> queues;
  for (const auto& stream : all.streams) queues.push_back(std::move(stream->queue));
  lock.unlock();
  queues.clear();
  for (const auto& context : contexts) context->default_queue.reset(), context->thread_queues.clear();
}

/// Complaints that no test asked for fail the program.
const struct AtExit {
  ~AtExit() {
    end_threads();
    const std::vector<std::string> left = complaints();
    for (const std::string& each : left) std::fprintf(stderr, "CUDA's stand-in: %s\n", each.c_str());
    if (alive() != Alive{}) std::fprintf(stderr, "CUDA's stand-in: something was never ended\n");
    if (!left.empty() || alive() != Alive{}) std::_Exit(1);
  }
} at_exit;

}  // namespace

State& state() {
  static State& state = *new State;  // outlives the threads of its streams
  return state;
}

ThreadState& this_thread() {
  static thread_local ThreadState state;
  return state;
}

cudaError_t State::refusal(const char* call) {
  const auto found = refusals.find(call);
  if (found == refusals.end() || found->second.first-- > 0) return cudaSuccess;
  const cudaError_t error = found->second.second;
  refusals.erase(found);
  return error;
}

CUctx_st& State::begin(int device) {
  if (primary[device] == nullptr) {
    contexts.push_back(std::make_unique<CUctx_st>(device));
    primary[device] = contexts.back().get();
  }
  return *primary[device];
}

CUctx_st& State::context_here(const char* call) {
  ThreadState& thread = this_thread();
  if (thread.current == nullptr) {
    complain(std::string(call) + " without a context: takes that of device " + std::to_string(thread.device));
    thread.current = &begin(thread.device);
  }
  return *thread.current;
}

HostQueue* State::queue(const char* call, cudaStream_t stream, CUctx_st& here) {
  const auto made = [](std::unique_ptr<HostQueue>& queue) {
    if (queue == nullptr) queue = std::make_unique<HostQueue>();
    return queue.get();
  };
  if (stream == nullptr || stream == cudaStreamLegacy) return made(here.default_queue);
  if (stream == cudaStreamPerThread) return made(here.thread_queues[std::this_thread::get_id()]);
  CUstream_st* const found = sound(*this, streams, stream, call, here);
  return found != nullptr ? found->queue.get() : nullptr;
}

CUevent_st* State::event(const char* call, cudaEvent_t event, CUctx_st& here) {
  return sound(*this, events, event, call, here);
}

bool State::allocated(const Piece& piece, const CUctx_st& here) const {
  return std::ranges::any_of(allocations,
                             [&](const Allocation& each) { return each.context == &here && each.piece.holds(piece); });
}

bool State::registered(const Piece& piece) const {
  return std::ranges::any_of(registrations, [&](const Piece& each) { return each.holds(piece); });
}

bool State::in_copy(const Piece& piece) const {
  return std::ranges::any_of(in_copies, [&](const auto& each) { return each.second.meets(piece); });
}

void State::enqueue(HostQueue& queue, CUctx_st& context, std::vector<Piece> pieces, std::function<void()> work) {
  const std::uint64_t number = copies++;
  for (const Piece& piece : pieces) in_copies.emplace(number, piece);
  queue.push([this, &context, number, work = std::move(work)] {
    std::unique_lock lock(mutex);
    const auto before = before_work;
    lock.unlock();
    if (before) before();
    lock.lock();
    if (begins(context, lock)) {
      ++context.working;
      lock.unlock();
      work();
      lock.lock();
      --context.working;
      changed.notify_all();
    }
    in_copies.erase(number);
  });
}

bool State::begins(CUctx_st& context, std::unique_lock<std::mutex>& lock) {
  changed.wait(lock, [&] { return !context.failing; });
  const auto strike = strikes.find(context.device);
  if (strike != strikes.end() && context.failure == cudaSuccess) {
    const cudaError_t error = strike->second;
    strikes.erase(strike);
    context.failing = true;
    changed.wait(lock, [&] { return context.working == 0; });
    context.failing = false;
    context.failure = error;
    changed.notify_all();
  }
  return context.failure == cudaSuccess;
}

void begin_anew() {
  if (alive() != Alive{}) throw std::logic_error("something outlived its test");
  end_threads();
  State& all = state();
  const std::scoped_lock lock(all.mutex);
  std::ranges::fill(all.primary, nullptr);
  all.streams.clear(), all.events.clear(), all.complaints.clear(), all.refusals.clear(), all.strikes.clear();
  all.before_work = nullptr, all.plain_copies = 0;
  this_thread() = {};
}

std::vector<std::string> complaints() {
  State& all = state();
  const std::scoped_lock lock(all.mutex);
  return std::exchange(all.complaints, {});
}

void complain(const std::string& what) {
  State& all = state();
  const std::scoped_lock lock(all.mutex);
  all.complain(what);
}

std::vector<int> devices_with_context() {
  State& all = state();
  const std::scoped_lock lock(all.mutex);
  std::vector<int> devices;
  for (int device = 0; device < kDevices; ++device) {
    if (all.primary[device] != nullptr) devices.push_back(device);
  }
  return devices;
}

Alive alive() {
  State& all = state();
  const std::scoped_lock lock(all.mutex);
  const auto going_on = [](const auto& objects) {
    return static_cast<std::size_t>(std::ranges::count_if(objects, [](const auto& each) { return !each->ended; }));
  };
  return {going_on(all.streams), going_on(all.events), all.allocations.size(), all.registrations.size()};
}

std::uint64_t copies_of_plain_memory() {
  State& all = state();
  const std::scoped_lock lock(all.mutex);
  return all.plain_copies;
}

void refuse(const char* call, cudaError_t error, int after) {
  State& all = state();
  const std::scoped_lock lock(all.mutex);
  all.refusals[call] = {after, error};
}

void strike(int device, cudaError_t error) {
  State& all = state();
  const std::scoped_lock lock(all.mutex);
  all.strikes[device] = error;
}

void before_work(std::function<void()> call) {
  State& all = state();
  const std::scoped_lock lock(all.mutex);
  all.before_work = std::move(call);
}

CUcontext current_context() {
  return this_thread().current;
}

void make_current(CUcontext context) {
  this_thread().current = context;
}

CUcontext new_context(int device) {
  State& all = state();
  const std::scoped_lock lock(all.mutex);
  all.contexts.push_back(std::make_unique<CUctx_st>(device));
  return all.contexts.back().get();
}

bool failed(CUcontext context) {
  const std::scoped_lock lock(state().mutex);
  return context->failure != cudaSuccess;
}

}  // namespace penstock::test::cuda

bool fake_cuda_has_context() {
  return penstock::test::cuda::current_context() != nullptr;
}
