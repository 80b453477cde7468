#include "interpreter.hpp"

#include <atomic>
#include <chrono>
#include <thread>

#include <unistd.h>

#include <penstock/base/error.hpp>

namespace penstock::python {
namespace {

using namespace std::chrono_literals;
namespace nb = nanobind;

constexpr auto kPatience = 5s;  // with threads inside system calls that do not come back

std::atomic<bool> ending{false};  // read by threads without the interpreter; orders nothing
int threads_without = 0;          // changed with the interpreter held
const pid_t process = ::getpid();

void require_not_ending() {
  if (ending.load(std::memory_order_relaxed)) throw Error::resource("the program is ending");
}

}  // namespace

WithoutInterpreter::WithoutInterpreter() {
  require_not_ending();
  ++threads_without;
  thread_ = PyEval_SaveThread();
}

WithoutInterpreter::~WithoutInterpreter() {
  PyEval_RestoreThread(thread_);
  --threads_without;
}

void check_signals() {
  require_not_ending();
  const nb::gil_scoped_acquire held;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

void end_threads() {
  ending.store(true, std::memory_order_relaxed);
  if (::getpid() != process) return;  // a fork's child has none of its parent's threads
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  while (threads_without > 0 && std::chrono::steady_clock::now() < give_up) {
    const nb::gil_scoped_release released;
    std::this_thread::sleep_for(1ms);
  }
}

}  // namespace penstock::python
