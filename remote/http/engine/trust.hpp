// Which certificates to trust.
#pragma once

#include <string>

namespace penstock {

struct Trust {
  std::string file = {};    ///< a bundle of certificates; empty: none
  std::string folder = {};  ///< of hashed names; empty: none
};

/// What CURL_CA_BUNDLE, SSL_CERT_FILE and SSL_CERT_DIR name, else the first place that is there of those where
/// systems have them: a libcurl that comes with a wheel was built for another one's. Both empty: libcurl's own.
Trust find_trust();

}  // namespace penstock
