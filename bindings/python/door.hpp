// Where the library meets Python: what leaves it is an Error, or what Python itself raised.
#pragma once

#include <nanobind/nanobind.h>

#include <penstock/base/handled_error.hpp>

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
