// Turns exceptions into values, so that one thread can catch a failure and another one can throw it.
#pragma once

#include <exception>
#include <utility>

#include <cxxabi.h>

#include <penstock/error.hpp>

namespace penstock {

/// Calls `work`, and returns its exception or null. Only the end of the thread passes through (pthread_exit, which
/// Python uses at shutdown). The reference is then bound to no object, so the sanitizer checks for it are disabled.
template <typename Work>
__attribute__((no_sanitize("null", "alignment"))) std::exception_ptr caught(Work&& work) {
  try {
    std::forward<Work>(work)();
#ifdef _LIBCPP_VERSION
    // libc++ has no name for the end of a thread, and `...` would stop it. All exceptions here derive from
    // std::exception.
  } catch (const std::exception&) {
#else
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (...) {
#endif
    return std::current_exception();
  }
  return nullptr;
}

/// Converts `failure` to an Error with the location `where`. An Error keeps the parts that it already has; any other
/// exception becomes Error: resource. May throw std::bad_alloc.
Error error_of(const std::exception_ptr& failure, const ErrorContext& where = {});

/// The same for callers that must not throw: if memory runs out, returns `failure` unchanged. `where` returns the
/// context.
template <typename Where>
std::exception_ptr explained(std::exception_ptr failure, Where&& where) {
  std::exception_ptr error;
  if (caught([&] { error = std::make_exception_ptr(error_of(failure, where())); }) != nullptr) return failure;
  return error;
}

}  // namespace penstock
