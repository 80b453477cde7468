// Turns any exception at the library's boundary into an Error.
#pragma once

#include <penstock/error.hpp>

namespace penstock {

/// Call it in a catch block: returns the current exception as an Error. An Error gets the missing parts of `where`.
/// System errors become kind io; lack of memory and all unexpected exceptions become kind resource. Use it only at the
/// boundary between the library and its user, and not for exceptions of the user's own functions. The end of the thread
/// passes through (pthread_exit, which Python uses at shutdown).
Error handled_error(const ErrorContext& where = {});

}  // namespace penstock
