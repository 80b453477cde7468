#include "python_step.hpp"

#include <loader/batch/batch_record.hpp>
#include <loader/batch/batch_stage.hpp>

#include "batch_dict.hpp"
#include "bind.hpp"

namespace penstock::python {
namespace {

// The interpreter's record of a thread that Python did not create. Kept until the thread ends, because thread-local
// data of programs (threading.local, contexts) is attached to it.
class ThreadRecord {
 public:
  ThreadRecord() : state_(PyGILState_Ensure()), saved_(PyEval_SaveThread()) {}
  ~ThreadRecord() {
    PyEval_RestoreThread(saved_);
    PyGILState_Release(state_);
  }
  ThreadRecord(ThreadRecord&&) = delete;

 private:
  PyGILState_STATE state_;
  PyThreadState* saved_;
};

void know_this_thread() {
  // Threads of Python, in which Loader.at() runs the step, have a record already.
  if (PyGILState_GetThisThreadState() != nullptr) return;
  thread_local const ThreadRecord record;
}

thread_local const PythonStep* running = nullptr;

class Running {
 public:
  explicit Running(const PythonStep* step) : before_(std::exchange(running, step)) {}
  ~Running() { running = before_; }
  Running(Running&&) = delete;

 private:
  const PythonStep* before_;
};

// Saves and restores an exception that propagates while a loader ends, because Python code must not run with one set.
class PutAside {
 public:
  PutAside() { PyErr_Fetch(&type_, &value_, &trace_); }
  ~PutAside() { PyErr_Restore(type_, value_, trace_); }
  PutAside(PutAside&&) = delete;

 private:
  PyObject *type_ = nullptr, *value_ = nullptr, *trace_ = nullptr;
};

// Calls a method whose exceptions must not stop the end of the loader; reports them as unraisable.
void unraised(const nb::object& function, const char* method) {
  const PutAside under_way;
  try {
    function.attr(method)();
  } catch (nb::python_error& error) {
    error.discard_as_unraisable(function);
  }
}

std::shared_ptr<void> shared(nb::object object) {
  return {object.release().ptr(), [](void* held) {
            // A batch may outlive Python. Its object is then leaked, because nothing can free it.
            if (Py_IsInitialized() == 0) return;
            const nb::gil_scoped_acquire interpreter;
            Py_DECREF(static_cast<PyObject*>(held));
          }};
}

}  // namespace

void PythonStep::run(Batch& batch) {
  know_this_thread();
  Stopwatch watch;
  const nb::gil_scoped_acquire interpreter;
  // Waits for the interpreter are not time of the function.
  waited_for_lock(watch.lap());
  const nb::object function = function_;  // close() may clear function_ during the call
  if (!function.is_valid()) return;
  const Running here(this);
  nb::list draws, rows;
  for (std::uint32_t row = 0; row < batch.size(); ++row) {
    draws.append(batch.slab()->context(row).draws());
    if (batch.slab()->cleared[row] == 0) rows.append(row);
  }
  batch.attach(shared(function(batch_dict(batch), batch.seed(), batch.epoch(), batch.number(), draws, rows)));
}

void PythonStep::stop() {
  if (function_.is_valid()) unraised(function_, "stop");
}

void PythonStep::clear() {
  if (!function_.is_valid()) return;
  unraised(function_, "close");
  function_.reset();
}

bool PythonStep::runs_here() const {
  return running == this;
}

nb::object made_of(const Batch& batch) {
  return nb::borrow(static_cast<PyObject*>(batch.attached().get()));
}

}  // namespace penstock::python
