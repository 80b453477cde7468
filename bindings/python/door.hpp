// The boundary between the library and Python: it turns what was thrown into an Error, or into Python's own exception.
#pragma once

#include <nanobind/nanobind.h>

#include <base/handled_error.hpp>

namespace penstock::python {

/// work(); what it throws that is neither an Error nor Python's own becomes an Error with the parts of `where`.
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
