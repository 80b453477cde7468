// Turns exceptions into values, so that one thread can catch a failure and another one can throw it.
#pragma once

#include <exception>
#include <utility>

#include <cxxabi.h>

#include <penstock/error.hpp>

namespace penstock {

/// Calls `work`; returns what it threw, or null. Only the end of the thread itself (pthread_exit, which Python uses
/// when it shuts down) passes through, as it must; there is no object then that the reference could be bound to.
template <typename Work>
__attribute__((no_sanitize("null", "alignment"))) std::exception_ptr caught(Work&& work) {
  try {
    std::forward<Work>(work)();
#ifdef _LIBCPP_VERSION
    // libc++ has no name for the end of a thread, and `...` would stop it for good. All that is thrown here has this
    // base.
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

/// `failure` as an Error that says where it happened. An Error keeps what it knows already; any other exception becomes
/// Error: resource. May throw std::bad_alloc.
Error error_of(const std::exception_ptr& failure, const ErrorContext& where = {});

/// The same, for who must not throw: where no memory is left to say more, `failure` as it is. `where` gives the
/// context.
template <typename Where>
std::exception_ptr explained(std::exception_ptr failure, Where&& where) {
  std::exception_ptr error;
  if (caught([&] { error = std::make_exception_ptr(error_of(failure, where())); }) != nullptr) return failure;
  return error;
}

}  // namespace penstock
