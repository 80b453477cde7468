// Turns any exception that reaches the library's boundary into an Error.
#pragma once

#include <penstock/error.hpp>

namespace penstock {

/// In a catch block: what is being handled, as an Error. An Error gets the parts of `where` that it does not know; a
/// failure of the system is of kind io; memory that ran out, and whatever nobody thought of, of kind resource. For the
/// places where the library meets its user; what a user's own function threw must not come here. The end of the thread
/// itself (pthread_exit, which Python uses when it shuts down) passes through.
Error handled_error(const ErrorContext& where = {});

}  // namespace penstock
