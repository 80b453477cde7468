// The boundary between the library and Python: converts exceptions to an Error or to Python's own exceptions.
#pragma once

#include <nanobind/nanobind.h>

#include <base/handled_error.hpp>

namespace penstock::python {

/// Returns work(). Exceptions other than Error and Python's become an Error with the parts of `where`.
template <typename Work>
auto through_door(const ErrorContext& where, const Work& work) {
  try {
    return work();
  } catch (const nanobind::python_error&) {
    throw;
  } catch (const nanobind::builtin_exception&) {
    throw;
  } catch (...) {
    throw handled_error(where);
  }
}

}  // namespace penstock::python
