// Finds the CA certificates to trust.
#pragma once

#include <string>

namespace penstock {

struct Trust {
  std::string file = {};    ///< bundle of certificates; empty: none
  std::string folder = {};  ///< folder with hashed names; empty: none
};

/// Uses CURL_CA_BUNDLE, SSL_CERT_FILE and SSL_CERT_DIR, otherwise the first existing place that is usual on Linux
/// distributions: a libcurl in a wheel was built for another distribution. If both members are empty, libcurl's default
/// applies.
Trust find_trust();

}  // namespace penstock
