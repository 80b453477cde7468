// What the environment says of requests, read once.
//
// | variable | meaning | without it |
// | --- | --- | --- |
// | PENSTOCK_REMOTE_DEADLINE | seconds until a read or call that fails again and again is given up; long reads have one
// more per MiB | 300 | | PENSTOCK_REMOTE_CONNECTIONS | most connections of this process, 1 to 1,024 | 128 | |
// PENSTOCK_REMOTE_CONNECT | seconds that making a connection may take | 15 | | PENSTOCK_REMOTE_STALL | seconds in which
// a request must bring 1 KiB for each, else it is sent again | 20 | | PENSTOCK_REMOTE_HEDGE | a range is asked for a
// second time when its answer takes this many times as long as nine of ten recent ones; 0: never | 0 | |
// PENSTOCK_REMOTE_TRIES | of answers that no right server gives, the most for one read | 8 | | SSL_CERT_FILE,
// CURL_CA_BUNDLE, SSL_CERT_DIR | certificates to trust | the system's | | http_proxy, https_proxy, all_proxy, no_proxy
// | as for curl | none |
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
  bool proxies = false;  ///< whether the environment names any
};

/// Throws Error: invalid_argument, of a variable that is no number in its range. Any thread.
const RemoteSettings& remote_settings();

/// The same, from the environment as it is now.
RemoteSettings read_remote_settings();

}  // namespace penstock
