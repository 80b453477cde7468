#include <algorithm>
#include <iterator>
#include <utility>

#include <base/printable.hpp>
#include <remote/http/dialect.hpp>
#include <remote/http/header_values.hpp>
#include <remote/http/repeats.hpp>

namespace penstock {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

[[noreturn]] void refuse_call(const char* what, const std::string& address) {
  throw Error::unsupported(what, {.dataset = address});
}

// Returns "text" of "<Code>text</Code>"; empty if the element is missing.
std::string_view element(std::string_view body, std::string_view name) {
  const std::string open = '<' + std::string(name) + '>', close = "</" + std::string(name) + '>';
  const std::size_t begins = body.find(open);
  if (begins == std::string_view::npos) return {};
  const std::string_view text = body.substr(begins + open.size());
  const std::size_t ends = text.find(close);
  return ends == std::string_view::npos ? std::string_view{} : text.substr(0, ends);
}

// Common status phrases of RFC 9110, section 15.
std::string_view phrase_of(int status) {
  static constexpr std::pair<int, std::string_view> kPhrases[] = {{301, "Moved Permanently"},
                                                                  {302, "Found"},
                                                                  {307, "Temporary Redirect"},
                                                                  {308, "Permanent Redirect"},
                                                                  {400, "Bad Request"},
                                                                  {401, "Unauthorized"},
                                                                  {403, "Forbidden"},
                                                                  {404, "Not Found"},
                                                                  {405, "Method Not Allowed"},
                                                                  {408, "Request Timeout"},
                                                                  {409, "Conflict"},
                                                                  {410, "Gone"},
                                                                  {412, "Precondition Failed"},
                                                                  {416, "Range Not Satisfiable"},
                                                                  {429, "Too Many Requests"},
                                                                  {500, "Internal Server Error"},
                                                                  {501, "Not Implemented"},
                                                                  {502, "Bad Gateway"},
                                                                  {503, "Service Unavailable"},
                                                                  {504, "Gateway Timeout"}};
  const auto* known = std::ranges::find(kPhrases, status, &std::pair<int, std::string_view>::first);
  return known != std::end(kPhrases) ? known->second : std::string_view{};
}

}  // namespace

Meaning Dialect::meaning(const HttpResponse& response) const {
  switch (response.status) {
    case 301:
    case 302:
    case 303:
    case 307:
    case 308:
      return Meaning::elsewhere;
    case 401:
      return Meaning::anew;
    case 404:
    case 410:
      return Meaning::absent;
    case 412:
      return Meaning::changed;
    case 416:
      return Meaning::outside;
    case 408:
    case 425:
    case 429:
    case 500:
    case 502:
    case 503:
    case 504:
      return Meaning::again;
    default:
      return response.status >= 200 && response.status < 300 ? Meaning::done : Meaning::refused;
  }
}

std::string Dialect::reason(const HttpResponse& response) const {
  constexpr std::size_t kLongest = 200;
  const std::string_view code = trimmed(element(response.body, "Code"));
  const std::string_view message = trimmed(element(response.body, "Message"));
  std::string text(code);
  if (!message.empty()) text += (text.empty() ? "" : ": ") + std::string(message.substr(0, message.find('\n')));
  return one_line(text.substr(0, kLongest));
}

ObjectInfo Dialect::info(const HttpResponse& response) const {
  ObjectInfo info;
  const auto range = parse_content_range(response.header("content-range"));
  if (range && range->size) {
    info.size = *range->size;
  } else {
    info.size = parse_digits(response.header("content-length")).value_or(response.body.size());
  }
  info.version = response.header("etag");
  info.modified = parse_http_date(response.header("last-modified")).value_or(0) * kSecond;
  return info;
}

std::vector<ListedObject> Dialect::list(Transport&, const std::string& folder) {
  refuse_call("penstock cannot list the files of a web server", folder);
}

std::unique_ptr<ObjectUpload> Dialect::upload(Transport&, const std::string& address, bool) {
  refuse_call("penstock cannot write to a web server", address);
}

void Dialect::remove(Transport&, const std::string& address) {
  refuse_call("penstock cannot write to a web server", address);
}

std::string said_by_server(const Dialect& dialect, const HttpResponse& response) {
  std::string text = "the server answers " + std::to_string(response.status);
  if (const std::string_view phrase = phrase_of(response.status); !phrase.empty())
    text += " (" + std::string(phrase) + ')';
  const std::string reason = dialect.reason(response);
  if (reason.empty()) return text;
  // Checks the whole body: a shortened reason may end inside a secret.
  const std::vector<std::string> secrets = dialect.secrets();
  const bool secret = repeats(response.body, secrets) || repeats(reason, secrets);
  return text + (secret ? " (its message is not shown, because it contains secrets of the request)" : ": " + reason);
}

Error refusal(const Dialect& dialect, const std::string& address, const HttpResponse& response) {
  return Error(ErrorKind::io, said_by_server(dialect, response), {.dataset = address});
}

bool is_there(const Dialect& dialect, const std::string& address, const HttpResponse& response) {
  const Meaning what = dialect.meaning(response);
  if (what != Meaning::done && what != Meaning::absent) throw refusal(dialect, address, response);
  return what == Meaning::done;
}

}  // namespace penstock
