// Binds the handler that lets `penstock run` report before a signal ends the process.
//
// Python's own signal module is not used: the program would see a handler that it has not set, and libraries such as
// Lightning then set none of theirs.
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>

#include <fcntl.h>
#include <unistd.h>

#include <penstock/error.hpp>

#include "../bind.hpp"
#include "../door.hpp"

namespace penstock::python {
namespace {

constexpr std::time_t kReportSeconds = 5;  // seconds in which the report must be done

// State of the handler, written before it is installed.
std::atomic<pid_t> watching_process{0};
std::atomic<int> pipe_end{-1};
std::atomic<bool> reporting{false};
std::array<timer_t, NSIG> timers{};

void die_by(int signal) {
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  ::sigaction(signal, &standard, nullptr);
  sigset_t only;
  ::sigemptyset(&only);
  ::sigaddset(&only, signal);
  ::pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  ::kill(::getpid(), signal);
}

// The first signal starts the report, and a timer that repeats the signal. The second one ends the process.
void on_signal(int signal) {
  const int kept = errno;
  if (::getpid() != watching_process.load() || reporting.exchange(true)) {
    die_by(signal);
  } else {
    const auto byte = static_cast<unsigned char>(signal);
    itimerspec later{};
    later.it_value.tv_sec = kReportSeconds;
    ::timer_settime(timers[static_cast<std::size_t>(signal)], 0, &later, nullptr);
    if (::write(pipe_end.load(), &byte, 1) != 1) die_by(signal);
  }
  errno = kept;
}

bool is_default(int signal) {
  struct sigaction now {};
  return ::sigaction(signal, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_DFL;
}

void install(int signal) {
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = signal;
  if (::timer_create(CLOCK_MONOTONIC, &event, &timers[static_cast<std::size_t>(signal)]) != 0)
    throw Error::io(errno, "cannot create a timer");
  struct sigaction handler {};
  handler.sa_handler = on_signal;
  // Without SA_NODEFER, the timer could not end a process whose handler is interrupted.
  handler.sa_flags = SA_RESTART | SA_NODEFER;
  if (::sigaction(signal, &handler, nullptr) != 0) throw Error::io(errno, "cannot set a handler");
}

bool is_ours(int signal) {
  struct sigaction now {};
  return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == on_signal;
}

// Returns whether one has arrived.
bool unwatch_signals() {
  for (int signal = 1; signal < NSIG; ++signal)
    if (is_ours(signal)) ::signal(signal, SIG_DFL);
  return reporting;
}

int watch_signals(const std::vector<int>& signals) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw Error::io(errno, "cannot create a pipe");
  pipe_end = ends[1];
  watching_process = ::getpid();
  for (const int signal : signals)
    if (signal > 0 && signal < NSIG && is_default(signal)) install(signal);
  return ends[0];
}

void wake() {
  const unsigned char nothing = 0;
  [[maybe_unused]] const auto written = ::write(pipe_end.load(), &nothing, 1);
}

}  // namespace

void bind_signals(nb::module_& module) {
  module.def(
      "watch_signals",
      [](const std::vector<int>& signals) { return through_door({}, [&] { return watch_signals(signals); }); },
      nb::arg("signals"), nb::sig("def watch_signals(signals: list[int]) -> int"),
      "Returns a file descriptor from which the number of each signal can be read. Only signals that would end the "
      "process are watched. The process ends by the signal 5 seconds after it, or at the second one. If the program "
      "sets a handler later, this function has no effect on that signal.");
  module.def(
      "signal_arrived", [] { return reporting.load(); }, "Whether a watched signal has arrived.");
  module.def("unwatch_signals", unwatch_signals, "Ends the watch. Returns whether a watched signal has arrived.");
  module.def("wake_signals", wake, "Writes a 0 to the descriptor of watch_signals().");
  module.def("die_by_signal", die_by, nb::arg("signal"), "Ends the process by this signal, without its handlers.");
}

}  // namespace penstock::python
