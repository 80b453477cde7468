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

  /// Attaches the function's result to the batch. Call it in any thread, without the interpreter. Throws the function's
  /// exceptions as nanobind::python_error, which may be destroyed in any thread.
  void run(Batch& batch);
  /// Whether the calling thread is inside run(). Functions that run() calls must not wait for the loader.
  bool runs_here() const;

  /// Requires the interpreter.
  const nanobind::object& function() const { return function_; }
  void stop();   ///< call before the loader ends: run() in another thread returns as soon as it can
  void clear();  ///< call after the loader has ended: ends the function's resources and releases the function

 private:
  nanobind::object function_;  // access requires the interpreter; empty once the loader is closed
};

/// The object that run() attached. Requires the interpreter.
nanobind::object made_of(const Batch& batch);

}  // namespace penstock::python
