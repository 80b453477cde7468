#include "interpreter.hpp"

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include <unistd.h>

#include <penstock/error.hpp>

namespace penstock::python {
namespace {

using namespace std::chrono_literals;
namespace nb = nanobind;

constexpr auto kPatience = 5s;  // wait this long for threads in system calls that do not return

std::atomic<bool> ending{false};  // read by threads without the interpreter; imposes no memory order
int threads_without = 0;          // changed with the interpreter held
const pid_t process = ::getpid();

// Per thread: whether a signal handler has raised since the interpreter was released, and its exception until it is
// thrown.
thread_local bool signal_raised = false;
thread_local std::exception_ptr raised_meanwhile;

bool is_to_end() {
  if (ending.load(std::memory_order_relaxed) || signal_raised) return true;
  const nb::gil_scoped_acquire held;
  if (PyErr_CheckSignals() == 0) return false;
  raised_meanwhile = std::make_exception_ptr(nb::python_error());
  signal_raised = true;
  return true;
}

void require_not_ending() {
  if (ending.load(std::memory_order_relaxed)) throw Error::resource("the program is ending");
}

}  // namespace

WithoutInterpreter::WithoutInterpreter() : waits_(is_to_end) {
  require_not_ending();
  signal_raised = false;
  ++threads_without;
  thread_ = PyEval_SaveThread();
}

void WithoutInterpreter::end() {
  if (thread_ == nullptr) return;
  PyEval_RestoreThread(std::exchange(thread_, nullptr));
  --threads_without;
}

WithoutInterpreter::~WithoutInterpreter() {
  end();
  // No exception reported the interrupted wait, so run the handler again.
  if (std::uncaught_exceptions() == 0 && take_raised_meanwhile() != nullptr) PyErr_SetInterrupt();
}

std::exception_ptr take_raised_meanwhile() noexcept {
  return std::exchange(raised_meanwhile, nullptr);
}

void check_signals() {
  require_not_ending();
  const nb::gil_scoped_acquire held;
  if (PyErr_CheckSignals() == 0) return;
  signal_raised = true;
  throw nb::python_error();
}

void end_threads() {
  ending.store(true, std::memory_order_relaxed);
  if (::getpid() != process) return;  // a forked child has none of its parent's threads
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  while (threads_without > 0 && std::chrono::steady_clock::now() < give_up) {
    // These threads need the interpreter in order to return.
    const nb::gil_scoped_release released;
    std::this_thread::sleep_for(1ms);
  }
}

}  // namespace penstock::python
