#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include <pthread.h>

#include <base/fork_gate.hpp>

namespace penstock {
namespace {

constexpr std::chrono::seconds kForkGrace{1};  // limit for a thread that is inside and waits for the forking thread

struct Gate {
  std::mutex all_mutex;  // guards all; fork() holds both mutexes
  std::vector<ForkGate::Sleepers*> all;
  std::mutex left_mutex;  // fork() waits with it for the last thread to leave
  std::condition_variable left;
  // Each side writes its own variable and then reads the other's, in one total order (seq_cst). Therefore at least one
  // side sees the other's write.
  std::atomic<std::int64_t> inside{0};
  std::atomic<bool> shut{false};
};

Gate& gate() {
  static Gate& forever = *new Gate;  // never deleted: threads may outlive static objects
  return forever;
}

void before_fork() {
  Gate& all = gate();
  all.all_mutex.lock();
  all.shut = true;
  for (ForkGate::Sleepers* sleepers : all.all) sleepers->wake();
  std::unique_lock lock(all.left_mutex);
  all.left.wait_for(lock, kForkGrace, [&] { return all.inside == 0; });
  lock.release();
}

void reopen() {
  Gate& all = gate();
  all.left_mutex.unlock();
  all.shut = false;
  all.shut.notify_all();
  all.all_mutex.unlock();
}

void begin_child() {
  gate().all.clear();
  gate().inside = 0;
  reopen();
}

}  // namespace

void ForkGate::enter() noexcept {
  Gate& all = gate();
  for (;;) {
    all.inside.fetch_add(1);
    if (!all.shut) return;
    leave();
    all.shut.wait(true);
  }
}

void ForkGate::leave() noexcept {
  Gate& all = gate();
  if (all.inside.fetch_sub(1) != 1 || !all.shut) return;
  const std::lock_guard lock(all.left_mutex);
  all.left.notify_all();
}

void ForkGate::add(Sleepers& sleepers) {
  static const int watched = ::pthread_atfork(before_fork, reopen, begin_child);
  static_cast<void>(watched);
  const std::lock_guard lock(gate().all_mutex);
  gate().all.push_back(&sleepers);
}

void ForkGate::remove(Sleepers& sleepers) noexcept {
  const std::lock_guard lock(gate().all_mutex);
  std::erase(gate().all, &sleepers);
}

}  // namespace penstock
