#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <list>
#include <mutex>
#include <utility>
#include <vector>

#include <sched.h>
#include <semaphore.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <base/arena_pool.hpp>
#include <base/caught.hpp>
#include <base/fork_gate.hpp>

namespace penstock {
namespace {

thread_local unsigned number_here = 0;  // number of this thread in its pool
thread_local bool runs_tokens = false;

// Orders earlier writes before later reads, as other threads see them.
void full_fence() {
#ifdef __SANITIZE_THREAD__
  static std::atomic<unsigned> fence{0};  // ThreadSanitizer does not support fences
  fence.fetch_add(1);
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

// Asks Linux not to interrupt the training's thread when this thread wakes. Another policy of the user stays. Threads
// and processes that a token starts have the default policy.
void let_others_first() {
  if (::sched_getscheduler(0) != SCHED_OTHER) return;
  const sched_param none{};
  ::sched_setscheduler(0, SCHED_BATCH | SCHED_RESET_ON_FORK, &none);
}

}  // namespace

namespace arena_pool {

// A ring often comes within a few of these calls, which cost less than sleeping and waking. On a busy core other
// threads use the time.
constexpr int kYields = 32;

/// Wakes waiting threads, one for each ring. A semaphore of POSIX whose waiting threads first let other threads run.
/// Not std::counting_semaphore: before GCC 12.3 its threads may sleep forever (https://gcc.gnu.org/PR104928).
class Bell {
 public:
  Bell() { ::sem_init(&rings_, 0, 0); }
  Bell(Bell&&) = delete;
  ~Bell() { ::sem_destroy(&rings_); }

  void ring() noexcept { ::sem_post(&rings_); }
  /// Returns after a ring, after `longest`, or without a reason; late if the system's clock is set meanwhile.
  void wait(std::chrono::milliseconds longest) noexcept {
    for (int yields = 0; yields < kYields; ++yields) {
      if (::sem_trywait(&rings_) == 0) return;
      ::sched_yield();
    }
    timespec until{};
    ::clock_gettime(CLOCK_REALTIME, &until);
    const auto seconds = std::chrono::floor<std::chrono::seconds>(longest);
    until.tv_sec += seconds.count();
    until.tv_nsec += std::chrono::nanoseconds(longest - seconds).count();
    if (until.tv_nsec >= 1'000'000'000) {
      ++until.tv_sec;
      until.tv_nsec -= 1'000'000'000;
    }
    ::sem_timedwait(&rings_, &until);
  }

 private:
  sem_t rings_{};
};

}  // namespace arena_pool

struct ArenaPool::State final : ForkGate::Sleepers {
  State(unsigned count, Token body, std::chrono::milliseconds waits)
      : threads(count), token(std::move(body)), stand_by(waits) {
    begin();
    ForkGate::add(*this);
  }
  State(State&&) = delete;
  void begin() {
    const ForkGate here;
    arena.initialize(static_cast<int>(threads + 1), threads + 1);  // all slots are reserved for our threads
    tokens = std::make_unique<tbb::task_group>(apart);
    group = std::make_unique<tbb::task_group>();
    if (auto refused = caught([&] { kept_open = group->defer([] {}); })) {
      static_cast<void>(group.release());  // its destructor would wait for the task that it could not defer
      std::rethrow_exception(refused);
    }
  }
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
    let_others_first();
    const ForkGate here;
    arena.execute([&] { group->wait(); });
  }

  // Adds a token: the pool's, or `once` if that has an element.
  bool enqueue(std::list<Token> once = {}) noexcept {
    const bool is_once = !once.empty();
    if (!hold()) return false;
    const std::lock_guard lock(door);
    if (is_once)
      brought.splice(brought.end(), once);
    else
      ++plain;
    const std::size_t tokens_left = plain + brought.size();
    if (waiting >= tokens_left) bell.ring();
    // No thread sleeps in the arena while it has a task. The threads that come for those tasks take this token, too.
    if (waiting + tasks_left >= tokens_left || tasks_left == threads || call()) return true;
    if (is_once)
      brought.pop_back();
    else
      --plain;
    let_go();
    return false;
  }

  // Requires `door`. Returns false without memory.
  bool call() noexcept {
    const bool spawned = spawn([this] { run_tokens(); });
    if (spawned) ++tasks_left;
    return spawned;
  }

  // A thread enters the arena to spawn a task. Tasks are not enqueued: if TBB may not start workers, enqueueing makes
  // it start one, which finds no free slot and never sleeps. TBB has no fence between spawning a task and checking for
  // sleeping threads, so a thread that is just falling asleep may miss the task. Usually the spawning thread runs the
  // task itself. Here it leaves the arena, so a fence and an empty second task repeat the check.
  // Requires `door`. Returns false without memory.
  template <typename Work>
  bool spawn(const Work& work) noexcept {
    bool spawned = false;
    const auto run = [&] {
      tokens->run(work);
      spawned = true;
      full_fence();
      tokens->run([] {});
    };
    if (caught([&] { arena.execute(run); }) != nullptr) token_refused = true;
    return spawned;
  }

  bool hold() noexcept {
    std::uint64_t before = open.load(std::memory_order_acquire);
    do {
      if (before == 0) return false;
    } while (!open.compare_exchange_weak(before, before + 1, std::memory_order_acq_rel));
    return true;
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

  // A task of TBB: runs tokens in this thread until none comes for some time. While a token waits for nested work of
  // TBB, its thread may take such a task, too. Then it runs one token at most, and must not wait.
  void run_tokens() noexcept {
    const bool nested = std::exchange(runs_tokens, true);
    if (nested) ForkGate::enter();
    {
      std::unique_lock lock(door);
      --tasks_left;
      if (!nested) {
        while (take_or_wait(lock)) run_one(lock);
      } else if (any()) {
        run_one(lock);
        if (any() && tasks_left == 0) call();
      }
    }
    if (nested) ForkGate::leave();
    runs_tokens = nested;
  }

  bool any() const { return plain > 0 || !brought.empty(); }

  void run_one(std::unique_lock<std::mutex>& lock) noexcept {
    std::list<Token> mine;
    if (brought.empty())
      --plain;
    else
      mine.splice(mine.end(), brought, brought.begin());
    lock.unlock();
    let_go();
    ForkGate::leave();
    (mine.empty() ? token : mine.front())(number_here);
    mine.clear();
    ForkGate::enter();
    lock.lock();
  }

  // Waits up to `stand_by` for a token, and returns whether there is one. TBB wakes every sleeping thread for each
  // task, and each of them spins for 0.1 ms and more before it sleeps again. A token wakes only one of the threads that
  // wait here.
  bool take_or_wait(std::unique_lock<std::mutex>& lock) noexcept {
    const Deadline deadline(stand_by);
    ++waiting;
    while (!any() && !closed && deadline.left().count() > 0) {
      lock.unlock();
      ForkGate::leave();
      bell.wait(deadline.left());
      ForkGate::enter();
      lock.lock();
    }
    --waiting;
    return any();
  }

  void close() noexcept {
    {
      const std::lock_guard lock(door);
      if (std::exchange(closed, true)) return;
      for (unsigned thread = 0; thread < waiting; ++thread) bell.ring();
    }
    let_go();
  }

  // Threads that sleep in the arena leave the gate, and return when fork() is over. Tasks that are left from an earlier
  // fork() count: while there is one, no thread sleeps in the arena.
  void wake() noexcept override {
    const auto come_out = [this] {
      if (runs_tokens) ForkGate::enter();  // the thread of a nested task is outside
      {
        const std::lock_guard lock(door);
        --calls_out;
      }
      let_go();
      ForkGate::leave();
      if (!runs_tokens) ForkGate::enter();
    };
    const std::lock_guard lock(door);
    for (; calls_out < threads; ++calls_out) {
      if (!hold()) return;
      if (!spawn(come_out)) return let_go();
    }
  }

  const unsigned threads;
  const Token token;
  const std::chrono::milliseconds stand_by;
  tbb::task_arena arena;
  std::unique_ptr<tbb::task_group> group;
  tbb::task_handle kept_open;                                        // keeps the group open: the threads wait for it
  tbb::task_group_context apart{tbb::task_group_context::isolated};  // a user's group cannot cancel tasks
  std::unique_ptr<tbb::task_group> tokens;                           // separate group; no thread waits for it until the
                                                                     // end
  // A thread that holds this mutex is inside the fork gate.
  std::mutex door;           // guards the members up to token_refused
  std::size_t plain = 0;     // tokens of enqueue() that have not begun
  std::list<Token> brought;  // those of enqueue(once)
  bool closed = false;
  std::size_t waiting = 0;     // threads in take_or_wait
  unsigned tasks_left = 0;     // tasks of enqueue() that have not begun
  unsigned calls_out = 0;      // tasks of wake() that have not run
  bool token_refused = false;  // no memory for a task
  // Rings for each token that a waiting thread shall take.
  arena_pool::Bell bell;
  // Counts one for the pool until it is closed, and one for each token, and task of wake(), that has not begun. At 0
  // the group is released.
  std::atomic<std::uint64_t> open{1};
  std::vector<Thread> started;
};

ArenaPool::ArenaPool(unsigned most, Token token, std::chrono::milliseconds stand_by)
    : state_(std::make_unique<State>(most, std::move(token), stand_by)) {}

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
  return state_->enqueue();
}

bool ArenaPool::enqueue(const Token& once) noexcept {
  const ForkGate here;
  std::list<Token> one;
  if (caught([&] { one.push_back(once); })) return false;
  return state_->enqueue(std::move(one));
}

void ArenaPool::close() noexcept {
  const ForkGate here;
  state_->close();
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
