// Runs a program's Python function on each batch, in the loader's own thread for it.
#pragma once

#include <utility>

#include <nanobind/nanobind.h>

#include <penstock/batch.hpp>

namespace penstock::python {

class PythonStep {
 public:
  /// `function`: penstock._own.step.OwnStep.
  explicit PythonStep(nanobind::object function) : function_(std::move(function)) {}

  /// Attaches what the function makes of the batch. In any thread, without the interpreter. Throws what it
  /// raises, as nanobind::python_error, which may end in any thread.
  void run(Batch& batch);
  /// Whether the calling thread is inside run(): what the function calls must not wait for the loader.
  bool runs_here() const;

  /// With the interpreter held.
  const nanobind::object& function() const { return function_; }
  void stop();   ///< before the loader ends: run() in another thread returns as soon as it can
  void clear();  ///< once the loader has ended: ends what the function has of its own, and lets go of it

 private:
  nanobind::object function_;  // touched with the interpreter held; empty once the loader is closed
};

/// Of what run() attached; with the interpreter held.
nanobind::object made_of(const Batch& batch);

}  // namespace penstock::python
