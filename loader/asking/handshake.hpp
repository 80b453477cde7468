// Client and server check that both have the token of the job. The token itself is not sent. There are three messages:
//
// 1. The server sends `challenge`: its version and a random number.
// 2. The client sends `request`: a random number, HMAC(token, "client", both numbers, request), and the request.
// 3. The server sends `accepted` with HMAC(token, "server", both numbers), or `refused` with the reason.
//
// The client checks the server's HMAC before it sends more. A foreign process on the port receives only the request,
// and the client uses none of its batches.
#pragma once

#include <string>
#include <string_view>

namespace penstock::asking {

inline constexpr std::uint32_t kLongestHandshake = 1U << 20U;  ///< bytes of each message

/// Returns the token, or the value of PENSTOCK_TOKEN if it is empty. Throws Error: invalid_argument, if both are
/// empty, or if it has less than 16 bytes.
std::string token_of(std::string_view given);

struct Challenge {
  std::string number;  ///< 16 bytes

  static Challenge make();
  std::string body() const;
  /// Throws Error: corrupt; unsupported, for another version of the messages.
  static Challenge of(std::string_view body);
};

/// The client's side.
struct Request {
  std::string number;  ///< 16 bytes
  std::string proof, text;

  static Request make(std::string_view token, const Challenge& challenge, std::string text);
  std::string body() const;
  /// Throws Error: corrupt.
  static Request of(std::string_view body);
  bool knows(std::string_view token, const Challenge& challenge) const;
};

/// Returns the HMAC of the server. The client computes the same and compares.
std::string proof_of_server(std::string_view token, const Challenge& challenge, const Request& request);

}  // namespace penstock::asking
