// Where an answer sends a request.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <remote/http/request.hpp>

namespace penstock {

inline constexpr unsigned kMostRedirects = 5;

/// Makes `request` the one that `location` leads to, without what belongs to its host alone where that is another one
/// (scheme, name or port). Returns why it may not go there; none: it may.
std::optional<std::string> redirect(HttpRequest& request, std::string_view location);

/// "https://host:port" of a URL.
std::string_view origin_of(std::string_view url);

}  // namespace penstock
