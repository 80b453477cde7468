#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <penstock/base/arena_pool.hpp>
#include <penstock/base/caught.hpp>
#include <penstock/base/fork_gate.hpp>

namespace penstock {
namespace {

thread_local unsigned number_here = 0;  // of a pool's thread

}  // namespace

struct ArenaPool::State final : ForkGate::Sleepers {
  State(unsigned count, Token body) : threads(count), token(std::move(body)) {
    const ForkGate here;
    // All slots are reserved. Where only one is, TBB sends a thread of its own for what is enqueued.
    const unsigned slots = std::max(threads, 2U);
    arena.initialize(static_cast<int>(slots), slots);
    group = std::make_unique<tbb::task_group>();
    if (auto refused = caught([&] { kept_open = group->defer([] {}); })) {
      static_cast<void>(group.release());  // it would wait for what it could not defer
      std::rethrow_exception(refused);
    }
    ForkGate::add(*this);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    ForkGate::remove(*this);
    started.clear();
    const ForkGate here;
    group.reset();
    arena.terminate();
  }

  void serve(unsigned number) {
    number_here = number;
    const ForkGate here;
    arena.execute([&] { group->wait(); });
  }

  template <typename Work>
  bool enqueue(Work work) noexcept {
    std::uint64_t before = open.load(std::memory_order_acquire);
    do {
      if (before == 0) return false;
    } while (!open.compare_exchange_weak(before, before + 1, std::memory_order_acq_rel));
    if (caught([&] { arena.enqueue(work); }) == nullptr) return true;
    let_go();
    return false;
  }
  void let_go() noexcept {
    if (open.fetch_sub(1, std::memory_order_acq_rel) == 1) kept_open = {};
  }

  void run() noexcept {
    let_go();
    ForkGate::leave();
    token(number_here);
    ForkGate::enter();
  }

  // Whoever sleeps in the arena leaves the gate, and comes back when fork() is over.
  void wake() noexcept override {
    const auto come_out = [this] {
      let_go();
      ForkGate::leave();
      ForkGate::enter();
    };
    for (unsigned thread = 0; thread < threads; ++thread) {
      if (!enqueue(come_out)) return;
    }
  }

  const unsigned threads;
  const Token token;
  tbb::task_arena arena;
  std::unique_ptr<tbb::task_group> group;
  tbb::task_handle kept_open;  // while it is there, the threads wait for the group
  // One for the pool, until it is closed, and one for each token that has not begun. Tokens are none of the group's
  // tasks: those for which memory is refused would be waited for nevertheless.
  std::atomic<std::uint64_t> open{1};
  std::atomic<bool> closed{false};
  std::vector<Thread> started;
};

ArenaPool::ArenaPool(unsigned threads, Token token) : state_(std::make_unique<State>(threads, std::move(token))) {}

void ArenaPool::start(const std::string& name, const std::shared_ptr<void>& keeps_alive, const Thread::Failed& failed) {
  const auto serve = [keeps_alive, state = state_.get()](unsigned number, const std::stop_token&) {
    state->serve(number);
  };
  start_threads(state_->started, name, state_->threads, serve, failed);
}

bool ArenaPool::enqueue() noexcept {
  const ForkGate here;
  return state_->enqueue([state = state_.get()] { state->run(); });
}

void ArenaPool::close() noexcept {
  if (state_->closed.exchange(true, std::memory_order_acq_rel)) return;
  const ForkGate here;
  state_->let_go();
}

bool ArenaPool::join_for(std::chrono::milliseconds grace) {
  close();
  const Deadline deadline(grace);
  bool joined = true;
  for (Thread& thread : state_->started) joined &= thread.join_for(deadline.left());
  return joined;
}

ArenaPool::~ArenaPool() {
  close();
}

}  // namespace penstock
