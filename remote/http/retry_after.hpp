// When a server allows a retry.
#pragma once

#include <chrono>

#include <remote/http/request.hpp>

namespace penstock {

/// Returns the delay of the header Retry-After, in seconds or as a date (RFC 9110, section 10.2.3); 0 if it is missing.
/// At most one minute: after that a retry shows whether the server still needs it.
std::chrono::milliseconds retry_after(const HttpResponse& response);

}  // namespace penstock
