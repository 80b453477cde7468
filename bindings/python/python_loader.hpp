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

/// All members are called with the interpreter held; what may take long lets go of it.
class PythonLoader {
 public:
  /// `note` is told in the stats; `step`, which may be null, is run on every batch. Throws what Loader's constructor
  /// does.
  PythonLoader(Dataset dataset, LoaderOptions options, std::string note, std::shared_ptr<PythonStep> step);
  ~PythonLoader();
  PythonLoader(PythonLoader&&) = delete;

  /// Begins a `for`, and tells which: the next epoch where the one under way was left early, else the one that stands.
  /// Only the latest `for` gets batches.
  std::uint64_t begin();
  /// Makes a batch into an object for the program. Called with the interpreter held.
  using HandOver = std::function<nanobind::object(const Batch&)>;
  /// Returns hand_over(the next batch), after which the batch counts as delivered; null at the end of the epoch and
  /// from then on. Throws what Loader::next() and `hand_over` do; Error: invalid_argument, when a later `for` has
  /// begun; and what Python's signal handlers raise meanwhile.
  nanobind::object next(std::uint64_t iteration, const HandOver& hand_over);
  void set_epoch(std::uint64_t epoch);
  std::string restore(const LoaderState& state);     ///< and what the program should know of it
  Stats stats() const;                               ///< also while another thread waits in next()
  Steps steps() const { return usable()->steps(); }  ///< likewise
  void mark_step();
  void trace(const std::filesystem::path& file, const TraceOptions& options);
  TraceSummary end_trace();
  bool tracing() const;  ///< also once it is closed

  std::string described() const;  ///< in a line, at any time: also once it is closed

  /// work(loader), one call at a time, without the interpreter.
  template <typename Work>
  auto use(Work work) {
    return use_released([&](Loader& loader, WithoutInterpreter&) { return work(loader); });
  }

  /// Ends the threads, once the step has returned; a wait in another thread ends with an Error. Batches stay valid. May
  /// be called again. Throws Error: invalid_argument, in the step itself.
  void close();
  /// As close(), also in the step itself, where the threads live on until something else is opened or closed.
  void end();
  const PythonStep* step() const { return step_.get(); }
  static void close_all();  ///< of this process, when the program ends

 private:
  /// The loader while it is used. If it was closed meanwhile, it ends here, without the interpreter, which its step may
  /// need.
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
  /// work(loader, released): as use(), for work that takes the interpreter back before it ends.
  template <typename Work>
  auto use_released(Work work) {
    std::shared_ptr<Loader> kept = usable();
    require_elsewhere();
    WithoutInterpreter released;
    const Used used{std::move(kept), closing_, released};
    const std::scoped_lock lock(mutex_);
    return through_door({.dataset = used.loader->dataset().path().string()},
                        [&] { return work(*used.loader, released); });
  }
  /// Throws Error: invalid_argument, once closed, and in a process forked from the one that made the loader.
  std::shared_ptr<Loader> usable() const;
  void require_elsewhere() const;  ///< throws Error: invalid_argument, in the step itself, which would wait for itself

  const pid_t process_ = ::getpid();
  const std::string note_;
  const std::shared_ptr<PythonStep> step_;
  std::atomic<bool> closing_{false};  // read by a waiting thread between two waits; orders nothing
  std::shared_ptr<Loader> loader_;    // changed with the interpreter held
  // Guards use of *loader_ and all below; never waited for with the interpreter held. Recursive: signal handlers, and
  // finalizers that run while a batch is handed over, may ask for the state.
  std::recursive_mutex mutex_;
  std::optional<TraceOptions> trace_;  // one is recorded
  std::uint64_t iteration_ = 0;        // the latest `for`
  bool under_way_ = false;             // its epoch has begun and not ended
  bool ended_ = false;                 // it has had all of its batches
};

}  // namespace penstock::python
