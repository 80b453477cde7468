// Releases the interpreter during long work and reacquires it, even while the program is ending.
#pragma once

#include <exception>

#include <nanobind/nanobind.h>

#include <base/waits/interruption.hpp>

namespace penstock::python {

/// Lets other Python threads run during its lifetime. A thread that requests the interpreter after Python has ended is
/// killed, and the process with it. Therefore end_threads() waits for all instances, and refuses new ones. Waits for
/// servers during its lifetime end with Error: resource, "interrupted", if a Python signal handler raises or the
/// program is ending.
class WithoutInterpreter {
 public:
  WithoutInterpreter();  ///< throws Error: resource, once the program is ending
  ~WithoutInterpreter();
  void end();  ///< reacquires the interpreter now; may be called again
  bool ended() const { return thread_ == nullptr; }
  WithoutInterpreter(WithoutInterpreter&&) = delete;

 private:
  PyThreadState* thread_;
  const Interruptible waits_;
};

/// Returns the exception of a signal handler that ended a wait, and clears it. Null: there is none.
std::exception_ptr take_raised_meanwhile() noexcept;

/// Returns work(), which runs without the interpreter.
template <typename Work>
auto without_interpreter(const Work& work) {
  const WithoutInterpreter released;
  return work();
}

/// Call it now and then during waits inside WithoutInterpreter. Runs Python's signal handlers, and throws what they
/// raise (KeyboardInterrupt). Throws Error: resource, if the program is ending.
void check_signals();

/// Call it before Python ends. Asks every WithoutInterpreter to end, and waits for them for a limited time.
void end_threads();

}  // namespace penstock::python
