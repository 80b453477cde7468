#include <cstdlib>

#include <base/secrets/secret.hpp>
#include <loader/asking/handshake.hpp>
#include <loader/sharing/wire.hpp>
#include <penstock/error.hpp>

namespace penstock::asking {
namespace {

constexpr std::size_t kNumber = 16;  // bytes of a random number
constexpr std::size_t kShortestToken = 16;

std::string proven(std::string_view token, std::string_view of, std::string_view challenge, std::string_view answer,
                   std::string_view text) {
  sharing::WireWriter to;
  for (const std::string_view part : {of, challenge, answer, text}) to.text(part);
  return hmac_of(token, to.take());
}

}  // namespace

std::string token_of(std::string_view given) {
  const char* const from = std::getenv("PENSTOCK_TOKEN");
  std::string token(given.empty() && from != nullptr ? std::string_view(from) : given);
  if (token.empty()) {
    throw Error::invalid_argument(
        "servers and their clients need a common token: set PENSTOCK_TOKEN for all of them, for example with "
        "export PENSTOCK_TOKEN=$(openssl rand -hex 16) in the job script");
  }
  if (token.size() < kShortestToken) throw Error::invalid_argument("a token must have at least 16 characters");
  return token;
}

Challenge Challenge::make() {
  return {.number = random_bytes(kNumber)};
}

std::string Challenge::body() const {
  sharing::WireWriter to;
  to.number(sharing::kVersion);
  to.text(number);
  return to.take();
}

Challenge Challenge::of(std::string_view body) {
  sharing::WireReader from(body);
  if (from.number() != sharing::kVersion) throw Error::unsupported("the server has another version of penstock");
  Challenge challenge{.number = from.text()};
  if (challenge.number.size() != kNumber || !from.done()) throw Error::corrupt("the challenge of a server is wrong");
  return challenge;
}

Request Request::make(std::string_view token, const Challenge& challenge, std::string text) {
  Request request{.number = random_bytes(kNumber), .proof = {}, .text = std::move(text)};
  request.proof = proven(token, "client", challenge.number, request.number, request.text);
  return request;
}

std::string Request::body() const {
  sharing::WireWriter to;
  for (const std::string_view part : {std::string_view(number), std::string_view(proof), std::string_view(text)})
    to.text(part);
  return to.take();
}

Request Request::of(std::string_view body) {
  sharing::WireReader from(body);
  Request request{.number = from.text(), .proof = {}, .text = {}};
  request.proof = from.text();
  request.text = from.text();
  if (request.number.size() != kNumber || !from.done()) throw Error::corrupt("the request of a client is wrong");
  return request;
}

bool Request::knows(std::string_view token, const Challenge& challenge) const {
  return same_secret(proof, proven(token, "client", challenge.number, number, text));
}

std::string proof_of_server(std::string_view token, const Challenge& challenge, const Request& request) {
  return proven(token, "server", challenge.number, request.number, {});
}

}  // namespace penstock::asking
