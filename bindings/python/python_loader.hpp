// A Loader for Python: any thread may call it, and it survives forks and the interpreter's exit.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <nanobind/nanobind.h>
#include <unistd.h>

#include <penstock/loader.hpp>

#include "door.hpp"
#include "interpreter.hpp"
#include "python_step.hpp"

namespace penstock::python {

/// Call all members with the interpreter held. Long operations release it.
class PythonLoader {
 public:
  /// `note` is shown in the stats. `step` runs on every batch and may be null. Throws what Loader's constructor throws.
  PythonLoader(Dataset dataset, LoaderOptions options, std::string note, std::shared_ptr<PythonStep> step);
  explicit PythonLoader(Loader loader);  ///< without a step
  ~PythonLoader();
  PythonLoader(PythonLoader&&) = delete;

  /// Begins a `for` and returns its number. If the current epoch was left early, it begins the next one, else the
  /// current one. Only the latest `for` gets batches.
  std::uint64_t begin();
  /// Converts a batch to an object for the program. Called with the interpreter held.
  using HandOver = std::function<nanobind::object(const Batch&)>;
  /// Returns hand_over(the next batch), after which the batch counts as delivered. Returns null at the end of the epoch
  /// and from then on. Throws errors of Loader::next() and `hand_over`; Error: invalid_argument, if a later `for` has
  /// begun; and exceptions of Python's signal handlers.
  nanobind::object next(std::uint64_t iteration, const HandOver& hand_over);
  void set_epoch(std::uint64_t epoch);
  std::string restore(const LoaderState& state);  ///< returns notes for the program
  Stats stats() const;                            ///< callable while another thread waits in next()
  Steps steps() const;                            ///< likewise
  void mark_step();
  void trace(const std::filesystem::path& file, const TraceOptions& options);
  TraceSummary end_trace();
  bool tracing() const;  ///< callable after close()

  std::string described() const;  ///< one line; callable after close()

  /// Calls work(loader) without the interpreter, one call at a time.
  template <typename Work>
  auto use(Work work) {
    return use_released([&](Loader& loader, WithoutInterpreter&) { return work(loader); });
  }

  /// Ends the threads after the step has returned. A wait in another thread ends with an Error. Batches stay valid. May
  /// be called again. Throws Error: invalid_argument, inside the step.
  void close();
  /// Like close(), but allowed inside the step. The threads then live until another loader is opened or closed.
  void end();
  const PythonStep* step() const { return step_.get(); }
  static void close_all();  ///< closes all loaders of this process when the program ends

 private:
  /// Holds the loader during use. If a signal handler closes it in the meantime, the destructor ends it, without the
  /// interpreter, which its step may need.
  struct Used {
    std::shared_ptr<Loader> loader;
    const std::atomic<bool>& closing;
    const WithoutInterpreter& without;
    ~Used() {
      if (!closing.load(std::memory_order_relaxed) || !without.ended()) return;
      const nanobind::gil_scoped_release released;
      loader.reset();
    }
  };
  /// Calls work(loader, released). Like use(), for work that reacquires the interpreter before it ends.
  template <typename Work>
  auto use_released(Work work) {
    require_open();
    require_elsewhere();
    WithoutInterpreter released;
    const std::scoped_lock lock(mutex_);
    if (closed()) throw Error::invalid_argument("this loader is closed");
    const Used used{loader_, closing_, released};
    return through_door({.dataset = used.loader->dataset().path().string()},
                        [&] { return work(*used.loader, released); });
  }
  /// Throws Error: invalid_argument, if closed, and in a process forked from the one that made the loader.
  void require_open() const;
  bool closed() const { return closing_.load(std::memory_order_relaxed); }
  void require_elsewhere() const;  ///< throws Error: invalid_argument, inside the step, which would wait for itself

  const pid_t process_ = ::getpid();
  const std::string note_;
  const std::shared_ptr<PythonStep> step_;
  // Set with the interpreter held; also read by a thread that waits in next(). Imposes no memory order.
  std::atomic<bool> closing_{false};
  // Until closing_ is set, threads that hold the interpreter or the mutex may read it. Afterwards it is reset with the
  // mutex locked, so close() returns after all other threads have left the loader and its step has returned.
  std::shared_ptr<Loader> loader_;
  // Guards use of *loader_ and all members below. Never locked while holding the interpreter. Recursive, because signal
  // handlers, and finalizers that run during hand_over, may ask for the state.
  std::recursive_mutex mutex_;
  std::optional<TraceOptions> trace_;  // set while a trace is recorded
  std::uint64_t iteration_ = 0;        // the latest `for`
  bool under_way_ = false;             // its epoch has begun and not ended
  bool ended_ = false;                 // it has had all of its batches
};

}  // namespace penstock::python
