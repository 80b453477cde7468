#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <base/sigbus_guard.hpp>

namespace penstock {

// One guarded mapping. Ranges are reused and never freed, so the handler may walk the list at any moment.
struct sigbus_guard::Range {
  std::atomic<std::uintptr_t> begin{0};  // 0: free; written after `bytes`, so the handler never sees half a range
  std::atomic<std::size_t> bytes{0};
  std::atomic<bool> torn{false};
  Range* next = nullptr;
};

namespace {

using sigbus_guard::Range;
using Handled = struct sigaction;

// The actions that were installed before ours, the latest last. Immutable once the handler can see them.
struct Earlier {
  static constexpr std::size_t kMost = 8;
  std::array<Handled, kMost> actions;
  std::size_t count = 0;
};

std::mutex g_mutex;  // guards all writes below; the handler only reads the atomics
std::atomic<const Earlier*> g_earlier{nullptr};
// never freed: the handler may still use each of them
std::vector<std::unique_ptr<const Earlier>>* g_all_earlier = nullptr;
std::atomic<Range*> g_ranges{nullptr};
std::size_t g_page = 0;

// State of this thread for the handler. `t_landing` is its jump target, null outside of guarded(). The others describe
// the call of earlier actions: their number, the signal, and the stack frame. initial-exec: the handler must not
// allocate thread-local storage on first use.
[[gnu::tls_model("initial-exec")]] thread_local sigjmp_buf* volatile t_landing = nullptr;
[[gnu::tls_model("initial-exec")]] thread_local volatile std::size_t t_handing_on = 0;
[[gnu::tls_model("initial-exec")]] thread_local const siginfo_t* volatile t_handed = nullptr;
[[gnu::tls_model("initial-exec")]] thread_local volatile std::uintptr_t t_frame = 0;

bool is_plain(const Handled& action) {
  return (action.sa_flags & SA_SIGINFO) == 0 && (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN);
}

bool same(const Handled& a, const Handled& b) {
  constexpr int kMeant = SA_SIGINFO | SA_NODEFER;
  return a.sa_sigaction == b.sa_sigaction && (a.sa_flags & kMeant) == (b.sa_flags & kMeant);
}

// Replaces all pages from the faulting one to the end of its mapping with zeros. Only calls functions that are allowed
// in a signal handler.
bool mend(const void* fault) {
  const auto address = reinterpret_cast<std::uintptr_t>(fault);
  for (Range* range = g_ranges.load(std::memory_order_acquire); range != nullptr; range = range->next) {
    const std::uintptr_t begin = range->begin.load(std::memory_order_acquire);
    const std::size_t bytes = range->bytes.load(std::memory_order_acquire);
    if (begin == 0 || address < begin || address - begin >= bytes) continue;
    const std::uintptr_t page = address / g_page * g_page;
    range->torn.store(true, std::memory_order_release);  // before the zeros become visible
    void* const zeros = ::mmap(reinterpret_cast<void*>(page), begin + bytes - page, PROT_READ,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    return zeros != MAP_FAILED;
  }
  return false;
}

// Does what the kernel does without a handler. A sent signal is raised again; a faulting instruction runs again and
// faults.
void act_by_default(int signal, bool sent) {
  Handled action{};
  action.sa_handler = SIG_DFL;
  sigemptyset(&action.sa_mask);
  ::sigaction(signal, &action, nullptr);
  if (sent) ::raise(signal);
}

void call(const Handled& action, int signal, siginfo_t* info, void* context) {
  sigset_t blocked = action.sa_mask, before;
  if ((action.sa_flags & SA_NODEFER) == 0) {
    sigaddset(&blocked, signal);
  } else {
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, signal);
    ::pthread_sigmask(SIG_UNBLOCK, &own, nullptr);
  }
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  if ((action.sa_flags & SA_SIGINFO) != 0) {
    action.sa_sigaction(signal, info, context);
  } else {
    action.sa_handler(signal);
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// An earlier handler may pass the signal on to the action that it found, which is this handler: by a call, from a
// deeper frame, or by raising it again. The action before it is called next, so each action is called at most once. Any
// other fault is new: the last handler has left by a jump.
void hand_on(int signal, siginfo_t* info, void* context) {
  const bool sent = info == nullptr || info->si_code <= 0;
  const auto frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  if (!sent && (info != t_handed || frame >= t_frame)) t_handing_on = 0;
  const Earlier* const earlier = g_earlier.load(std::memory_order_acquire);
  const std::size_t handing_on = t_handing_on;
  if (earlier == nullptr || handing_on >= earlier->count) return act_by_default(signal, sent);
  const Handled& action = earlier->actions[earlier->count - 1 - handing_on];
  if (is_plain(action)) {
    if (sent && action.sa_handler == SIG_IGN) return;  // a fault cannot be ignored: the kernel would end the process
    return act_by_default(signal, sent);
  }
  t_handing_on = handing_on + 1;
  t_handed = info;
  t_frame = frame;
  call(action, signal, info, context);
  t_handing_on = handing_on;
}

void on_sigbus(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  sigjmp_buf* const landing = t_landing;
  if (landing != nullptr) {
    // The jump leaves the handler without returning, so the signal mask must be restored here. Otherwise a second
    // fault, with SIGBUS blocked, would end the process.
    ::pthread_sigmask(SIG_SETMASK, &static_cast<ucontext_t*>(context)->uc_sigmask, nullptr);
    errno = error;
    siglongjmp(*landing, 1);
  }
  const bool mended = info != nullptr && info->si_code > 0 && mend(info->si_addr);
  if (!mended) hand_on(signal, info, context);
  errno = error;
}

bool is_ours(const Handled& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == on_sigbus;
}

// Makes `action` the first to be called. Equal lists are stored once, so a program that installs the same handlers
// repeatedly uses no more memory.
void remember(const Handled& action) {
  const Earlier* const known = g_earlier.load(std::memory_order_relaxed);
  auto made = std::make_unique<Earlier>();
  const std::size_t count = known == nullptr ? 0 : known->count;
  for (std::size_t i = 0; i < count; ++i) {
    if (!same(known->actions[i], action)) made->actions[made->count++] = known->actions[i];
  }
  if (made->count == Earlier::kMost) {
    std::copy(made->actions.begin() + 1, made->actions.end(), made->actions.begin());
    --made->count;
  }
  if (is_plain(action)) made->count = 0;  // its owner has removed all handlers before it
  made->actions[made->count++] = action;
  if (g_all_earlier == nullptr) g_all_earlier = new std::vector<std::unique_ptr<const Earlier>>();
  for (const auto& list : *g_all_earlier) {
    if (!std::equal(list->actions.begin(), list->actions.begin() + static_cast<std::ptrdiff_t>(list->count),
                    made->actions.begin(), made->actions.begin() + static_cast<std::ptrdiff_t>(made->count), same))
      continue;
    return g_earlier.store(list.get(), std::memory_order_release);
  }
  g_all_earlier->push_back(std::move(made));
  g_earlier.store(g_all_earlier->back().get(), std::memory_order_release);
}

}  // namespace

void guard_against_sigbus() noexcept {
  Handled now{};
  if (::sigaction(SIGBUS, nullptr, &now) != 0 || is_ours(now)) return;
  try {
    const std::lock_guard lock(g_mutex);
    if (::sigaction(SIGBUS, nullptr, &now) != 0 || is_ours(now)) return;
    remember(now);  // before the handler is installed: another thread may fault at once
    Handled action{};
    action.sa_sigaction = on_sigbus;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    Handled replaced{};
    ::sigaction(SIGBUS, &action, &replaced);
    if (!is_ours(replaced) && !same(replaced, now)) remember(replaced);  // another thread has installed it meanwhile
  } catch (...) {  // no memory for the list: the installed handler stays
  }
}

void sigbus_guard::enter(sigjmp_buf* landing) noexcept {
  t_landing = landing;
}

void sigbus_guard::leave() noexcept {
  t_landing = nullptr;
}

bool copy_from_mapping(void* destination, const void* source, std::size_t bytes) noexcept {
  return guarded([&] { std::memcpy(destination, source, bytes); });
}

GuardedMapping::GuardedMapping(std::span<const std::byte> bytes) {
  guard_against_sigbus();
  const std::lock_guard lock(g_mutex);
  g_page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  for (range_ = g_ranges.load(std::memory_order_relaxed); range_ != nullptr; range_ = range_->next) {
    if (range_->begin.load(std::memory_order_relaxed) == 0) break;
  }
  const bool fresh = range_ == nullptr;
  if (fresh) range_ = new Range;
  range_->torn.store(false, std::memory_order_relaxed);
  range_->bytes.store(bytes.size(), std::memory_order_release);
  range_->begin.store(reinterpret_cast<std::uintptr_t>(bytes.data()), std::memory_order_release);
  if (!fresh) return;
  range_->next = g_ranges.load(std::memory_order_relaxed);
  g_ranges.store(range_, std::memory_order_release);
}

GuardedMapping::GuardedMapping(GuardedMapping&& other) noexcept : range_(std::exchange(other.range_, nullptr)) {}

GuardedMapping& GuardedMapping::operator=(GuardedMapping&& other) noexcept {
  std::swap(range_, other.range_);
  return *this;
}

GuardedMapping::~GuardedMapping() {
  if (range_ == nullptr) return;
  const std::lock_guard lock(g_mutex);
  range_->begin.store(0, std::memory_order_release);
}

bool GuardedMapping::torn() const noexcept {
  return range_ != nullptr && range_->torn.load(std::memory_order_acquire);
}

}  // namespace penstock
