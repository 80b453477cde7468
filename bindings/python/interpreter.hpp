// Releases the interpreter during long work and takes it back, also when the program is ending.
#pragma once

#include <exception>

#include <nanobind/nanobind.h>

#include <base/waits/interruption.hpp>

namespace penstock::python {

/// Other Python threads may run for as long as this lives. A thread that asks for the interpreter once Python has ended
/// is killed by it, and takes the process along; so end_threads() waits for all of these, and there are no new ones.
/// Waits for servers meanwhile end with Error: resource, "interrupted", where a signal handler of Python's raises, or
/// the program is ending.
class WithoutInterpreter {
 public:
  WithoutInterpreter();  ///< throws Error: resource, once the program is ending
  ~WithoutInterpreter();
  void end();  ///< takes the interpreter back now; may be called again
  bool ended() const { return thread_ == nullptr; }
  WithoutInterpreter(WithoutInterpreter&&) = delete;

 private:
  PyThreadState* thread_;
  const Interruptible waits_;
};

/// What a signal handler raised while a wait was under way that ended for it; once. Null: nothing.
std::exception_ptr take_raised_meanwhile() noexcept;

/// The result of work(), which runs without the interpreter.
template <typename Work>
auto without_interpreter(const Work& work) {
  const WithoutInterpreter released;
  return work();
}

/// For waits inside WithoutInterpreter, now and then: runs Python's signal handlers, and throws what they raise
/// (KeyboardInterrupt); throws Error: resource, when the program is ending.
void check_signals();

/// Before Python ends: asks every WithoutInterpreter to end, and waits for it as long as a program may take to end.
void end_threads();

}  // namespace penstock::python
