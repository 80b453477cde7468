// The parts of a URL (RFC 3986) as users write it.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

struct WebAddress {
  std::string clean = {};     ///< without user, query and fragment
  std::string user = {};      ///< "user:password" in Base64; empty: none
  std::string password = {};  ///< of it, as it is
  std::string query = {};     ///< with its '?'; empty: none
};

/// Throws Error: invalid_argument, of one without a host or with control characters, naming the clean address.
WebAddress split_web_address(std::string_view address);

/// With "%20" in place of what a URL cannot have. What is escaped already stays as it is.
std::string escaped_url(std::string_view address);

}  // namespace penstock
