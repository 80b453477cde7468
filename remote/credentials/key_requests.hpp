// Requests for credentials: small, to few, and with little patience.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include <remote/http/request.hpp>
#include <remote/http/transport.hpp>

namespace penstock {

/// Sends a request of `name` ("AWS STS", for errors) and gives its answer, of any status below 500 but 429. Throws
/// Error: io, where none comes in time, which tells nothing of headers or bodies.
using KeyRequest = std::function<HttpResponse(const std::string& name, const HttpRequest& request,
                                              std::chrono::milliseconds deadline, unsigned attempts)>;

/// By `transport`, which outlives it.
KeyRequest key_requests(Transport& transport);

/// "a=1&b=2" as forms are posted.
std::string form_of(std::initializer_list<std::pair<std::string_view, std::string_view>> fields);

}  // namespace penstock
