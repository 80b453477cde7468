// Follows the redirect of an answer.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <remote/http/request.hpp>

namespace penstock {

inline constexpr unsigned kMostRedirects = 5;

/// Changes `request` to the target `location`. If that is another host (scheme, name or port differ), drops the parts
/// that only its own host may see. Returns the reason if the redirect is not allowed.
std::optional<std::string> redirect(HttpRequest& request, std::string_view location);

/// Returns "https://host:port" of a URL.
std::string_view origin_of(std::string_view url);

}  // namespace penstock
