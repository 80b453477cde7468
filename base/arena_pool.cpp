#include <atomic>
#include <cstdint>
#include <list>
#include <mutex>
#include <utility>
#include <vector>

#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <base/arena_pool.hpp>
#include <base/caught.hpp>
#include <base/fork_gate.hpp>

namespace penstock {
namespace {

thread_local unsigned number_here = 0;  // number of this thread in its pool

// Orders earlier writes before later reads, as other threads see them.
void full_fence() {
#ifdef __SANITIZE_THREAD__
  static std::atomic<unsigned> fence{0};  // ThreadSanitizer does not support fences
  fence.fetch_add(1);
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

}  // namespace

struct ArenaPool::State final : ForkGate::Sleepers {
  State(unsigned count, Token body) : threads(count), token(std::move(body)) {
    const ForkGate here;
    arena.initialize(static_cast<int>(threads + 1), threads + 1);  // all slots are reserved for our threads
    tokens = std::make_unique<tbb::task_group>(apart);
    group = std::make_unique<tbb::task_group>();
    if (auto refused = caught([&] { kept_open = group->defer([] {}); })) {
      static_cast<void>(group.release());  // its destructor would wait for the task that it could not defer
      std::rethrow_exception(refused);
    }
    ForkGate::add(*this);
  }
  State(State&&) = delete;
  ~State() {
    ForkGate::remove(*this);
    started.clear();
    const ForkGate here;
    end_tokens();
    kept_open = {};
    group.reset();
    arena.terminate();
  }

  void serve(unsigned number) {
    number_here = number;
    const ForkGate here;
    arena.execute([&] { group->wait(); });
  }

  // A thread enters the arena to spawn a token. Tokens are not enqueued: if TBB may not start workers, enqueueing makes
  // it start one, which finds no free slot and never sleeps. TBB has no fence between spawning a task and checking for
  // sleeping threads, so a thread that is just falling asleep may miss the task. Usually the spawning thread runs the
  // task itself. Here it leaves the arena, so a fence and an empty second task repeat the check.
  template <typename Work>
  bool enqueue(const Work& work) noexcept {
    std::uint64_t before = open.load(std::memory_order_acquire);
    do {
      if (before == 0) return false;
    } while (!open.compare_exchange_weak(before, before + 1, std::memory_order_acq_rel));
    {
      const std::lock_guard lock(door);
      bool spawned = false;
      const auto spawn = [&] {
        tokens->run(work);
        spawned = true;
        full_fence();
        tokens->run([] {});
      };
      if (caught([&] { arena.execute(spawn); }) != nullptr) token_refused = true;
      if (spawned) return true;
    }
    let_go();
    return false;
  }
  void let_go() noexcept {
    if (open.fetch_sub(1, std::memory_order_acq_rel) == 1) kept_open = {};
  }

  // A group waits even for tasks that it refused, so such a group is leaked. Tokens that no thread was started for are
  // cancelled.
  void end_tokens() noexcept {
    if (open.load(std::memory_order_acquire) != 0) tokens->cancel();
    const auto finish = [&] { arena.execute([&] { tokens->wait(); }); };
    if (token_refused || caught(finish))
      static_cast<void>(tokens.release());
    else
      tokens.reset();
  }

  void run() noexcept {
    let_go();
    ForkGate::leave();
    token(number_here);
    ForkGate::enter();
  }

  // The token is stored here and not in TBB's task, so that the mutex visibly orders the two threads.
  bool enqueue_once(const Token& once) noexcept {
    std::list<Token> one;
    if (caught([&] { one.push_back(once); })) return false;
    const auto place = one.begin();
    {
      const std::lock_guard lock(door);
      brought.splice(brought.end(), one);
    }
    if (enqueue([this, place] { run_once(place); })) return true;
    const std::lock_guard lock(door);
    brought.erase(place);
    return false;
  }
  void run_once(std::list<Token>::iterator place) noexcept {
    let_go();
    std::list<Token> mine;
    {
      const std::lock_guard lock(door);
      mine.splice(mine.end(), brought, place);
    }
    ForkGate::leave();
    mine.front()(number_here);
    mine.clear();
    ForkGate::enter();
  }

  // Threads that sleep in the arena leave the gate, and return when fork() is over.
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
  tbb::task_handle kept_open;                                        // keeps the group open: the threads wait for it
  tbb::task_group_context apart{tbb::task_group_context::isolated};  // a user's group cannot cancel tokens
  std::unique_ptr<tbb::task_group> tokens;                           // separate group; no thread waits for it until the
                                                                     // end
  std::mutex door;                                                   // one thread at a time enters to spawn a token
  std::list<Token> brought;                                          // tokens of enqueue(once); guarded by `door`
  bool token_refused = false;                                        // no memory for a token; guarded by `door`
  // Counts one for the pool until it is closed, and one for each token that has not begun. At 0 the group is released.
  std::atomic<std::uint64_t> open{1};
  std::atomic<bool> closed{false};
  std::vector<Thread> started;
};

ArenaPool::ArenaPool(unsigned most, Token token) : state_(std::make_unique<State>(most, std::move(token))) {}

void ArenaPool::start(const std::string& name, const std::shared_ptr<void>& keeps_alive, const Thread::Failed& failed,
                      std::optional<unsigned> threads) {
  const auto serve = [keeps_alive, state = state_.get()](unsigned number, const std::stop_token&) {
    state->serve(number);
  };
  start_threads(state_->started, name, threads.value_or(state_->threads), serve, failed);
}

unsigned ArenaPool::started() const {
  return static_cast<unsigned>(state_->started.size());
}

bool ArenaPool::enqueue() noexcept {
  const ForkGate here;
  return state_->enqueue([state = state_.get()] { state->run(); });
}

bool ArenaPool::enqueue(const Token& once) noexcept {
  const ForkGate here;
  return state_->enqueue_once(once);
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
