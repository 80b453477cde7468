// Settings of requests from the environment, read once. The default is in parentheses.
//
// PENSTOCK_REMOTE_DEADLINE     seconds until a repeatedly failing call is given up; one more per MiB of a read (300)
// PENSTOCK_REMOTE_CONNECTIONS  maximum number of connections of this process, 1 to 1,024 (128)
// PENSTOCK_REMOTE_CONNECT      time limit for making a connection, in seconds (15)
// PENSTOCK_REMOTE_STALL        period in seconds; a request that receives less than 1 KiB/s in it is repeated (20)
// PENSTOCK_REMOTE_HEDGE        a second request is sent if an answer takes this multiple of the 90th percentile;
//                              0: never (0)
// PENSTOCK_REMOTE_TRIES        maximum number of malformed answers per read (8)
// SSL_CERT_FILE, CURL_CA_BUNDLE, SSL_CERT_DIR               certificates to trust (the system's)
// http_proxy, https_proxy, all_proxy, no_proxy              as for curl (none)
#pragma once

#include <chrono>

namespace penstock {

struct RemoteSettings {
  std::chrono::milliseconds deadline{300'000};
  std::chrono::milliseconds connect{15'000};
  std::chrono::milliseconds stall{20'000};
  unsigned connections = 128;
  double hedge = 0;
  unsigned tries = 8;
  bool proxies = false;  ///< true if the environment names a proxy
};

/// Throws Error: invalid_argument, if a variable is not a number in its range. Thread-safe.
const RemoteSettings& remote_settings();

/// Reads the settings from the current environment.
RemoteSettings read_remote_settings();

}  // namespace penstock
