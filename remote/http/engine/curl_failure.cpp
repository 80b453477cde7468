#include <string>
#include <string_view>

#include <base/printable.hpp>
#include <remote/http/engine/curl_failure.hpp>

namespace penstock {
namespace {

Failure::Kind kind_of(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
      return Failure::Kind::unreachable;
    case CURLE_URL_MALFORMAT:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_CRL_BADFILE:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_SSL_ENGINE_NOTFOUND:
    case CURLE_BAD_FUNCTION_ARGUMENT:
    case CURLE_UNKNOWN_OPTION:
    case CURLE_NOT_BUILT_IN:
    case CURLE_BAD_CONTENT_ENCODING:
      return Failure::Kind::hopeless;
    case CURLE_OUT_OF_MEMORY:
    case CURLE_FAILED_INIT:
      return Failure::Kind::unable;
    default:
      return Failure::Kind::broken;
  }
}

// libcurl's own text where it can hold no part of a URL: it names hosts, ports, certificates and counts of bytes.
bool is_told(CURLcode code) {
  return code != CURLE_URL_MALFORMAT;
}

// It quotes the proxy as the environment has it, with its password.
bool quotes_proxy(std::string_view text) {
  return text.starts_with("Unsupported proxy");
}

}  // namespace

Failure curl_failure(CURLcode code, const char* detail) {
  // Of web addresses alone: then it is the answer.
  if (code == CURLE_UNSUPPORTED_PROTOCOL) return {Failure::Kind::broken, "the answer is no HTTP/1"};
  if (quotes_proxy(detail))
    return {Failure::Kind::hopeless, "what the environment names as the proxy is no address of one"};
  if (code == CURLE_SSL_CONNECT_ERROR &&
      std::string_view(detail).find("wrong version number") != std::string_view::npos)
    return {Failure::Kind::hopeless, "what answers there speaks no TLS: is the address one of http://?"};
  const std::string text = is_told(code) && *detail != '\0' ? detail : ::curl_easy_strerror(code);
  return {kind_of(code), one_line(text)};
}

}  // namespace penstock
