// Sends requests for credentials: small, few, and with short deadlines.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include <remote/http/request.hpp>
#include <remote/http/transport.hpp>

namespace penstock {

/// Sends a request of `name` ("AWS STS", for errors) and returns its answer, with any status below 500 except 429.
/// Throws Error: io, if no answer arrives in time. The message contains no headers or bodies.
using KeyRequest = std::function<HttpResponse(const std::string& name, const HttpRequest& request,
                                              std::chrono::milliseconds deadline, unsigned attempts)>;

/// Sends through `transport`, which must outlive the result.
KeyRequest key_requests(Transport& transport);

/// Encodes form fields as "a=1&b=2".
std::string form_of(std::initializer_list<std::pair<std::string_view, std::string_view>> fields);

}  // namespace penstock
