#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstring>

#include <ucontext.h>

#include <penstock/loader/sigbus_guard.hpp>

namespace penstock {
namespace {

struct sigaction previous_action;  // written once, before the handler is in place

// Where the handler jumps to; null outside copy_from_mapping. initial-exec: read inside a signal handler, where storage
// that is made on first use could not be had.
[[gnu::tls_model("initial-exec")]] thread_local sigjmp_buf* landing = nullptr;

void on_sigbus(int signal, siginfo_t* info, void* context) {
  if (landing != nullptr) {
    // The jump leaves the handler without returning, so what is blocked while it runs must be given back here: a second
    // fault with SIGBUS blocked would end the process.
    pthread_sigmask(SIG_SETMASK, &static_cast<ucontext_t*>(context)->uc_sigmask, nullptr);
    siglongjmp(*landing, 1);
  }
  if ((previous_action.sa_flags & SA_SIGINFO) != 0) {
    previous_action.sa_sigaction(signal, info, context);
  } else if (previous_action.sa_handler != SIG_DFL && previous_action.sa_handler != SIG_IGN) {
    previous_action.sa_handler(signal);
  } else {
    // The default action: the faulting instruction runs again, now without a handler. A signal that was sent from
    // outside is sent again.
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

void install_once() {
  static const bool installed = [] {
    struct sigaction action {};
    action.sa_sigaction = on_sigbus;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, nullptr, &previous_action);
    sigaction(SIGBUS, &action, nullptr);
    return true;
  }();
  static_cast<void>(installed);
}

}  // namespace

bool copy_from_mapping(void* destination, const void* source, std::size_t bytes) {
  install_once();
  sigjmp_buf here;
  if (sigsetjmp(here, 0) != 0) {
    landing = nullptr;
    return false;
  }
  landing = &here;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  std::memcpy(destination, source, bytes);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  landing = nullptr;
  return true;
}

std::size_t copy_from_mapping(const std::byte* base, std::span<const ReadRequest> requests) {
  install_once();
  constexpr std::size_t kAhead = 12;  // lines under way at once: about what a core can have
  volatile std::size_t copied = 0;    // volatile: read after the jump
  sigjmp_buf here;
  if (sigsetjmp(here, 0) != 0) {
    landing = nullptr;
    return copied;
  }
  landing = &here;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (i + kAhead < requests.size()) __builtin_prefetch(base + requests[i + kAhead].extent.offset);
    const ReadRequest& request = requests[i];
    std::memcpy(request.destination, base + request.extent.offset, request.extent.length);
    copied = i + 1;
  }
  std::atomic_signal_fence(std::memory_order_seq_cst);
  landing = nullptr;
  return copied;
}

}  // namespace penstock
