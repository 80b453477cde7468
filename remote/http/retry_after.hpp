// When a server wants to be asked again.
#pragma once

#include <chrono>

#include <remote/http/request.hpp>

namespace penstock {

/// Of the header Retry-After, in seconds or as a date (RFC 9110, section 10.2.3); 0 where there is none. Never longer
/// than a minute, after which one looks whether the server meant it.
std::chrono::milliseconds retry_after(const HttpResponse& response);

}  // namespace penstock
