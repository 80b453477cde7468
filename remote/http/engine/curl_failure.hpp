// What went wrong, of libcurl's codes.
#pragma once

#include <curl/curl.h>

#include <remote/http/engine/exchange.hpp>

namespace penstock {

/// `code` is not CURLE_OK; `detail` is libcurl's own text, or empty.
Failure curl_failure(CURLcode code, const char* detail);

}  // namespace penstock
