#include <bench/web/page.hpp>
#include <bench/web/site.hpp>
#include <bench/web/token.hpp>

namespace penstock {
namespace {

constexpr std::string_view kHeaders =
    "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n";

// The page loads nothing except its own data. JupyterLab may show it in a frame of the same origin.
std::string policy(const std::string& nonce) {
  return "Content-Security-Policy: default-src 'none'; script-src 'nonce-" + nonce + "'; style-src 'nonce-" + nonce +
         "'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'\r\n";
}

std::string_view after_last_slash(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

LiveSite::LiveSite(std::chrono::milliseconds interval) : token_(random_token()), interval_(interval) {}

HttpAnswer LiveSite::answer(std::string_view path) const {
  const std::string_view name = after_last_slash(path);
  if (same_token(name, token_))  // relative, because the prefix is unknown
    return {.status = "307 Temporary Redirect",
            .body = {},
            .headers = "Location: " + token_ + "/\r\n" + std::string(kHeaders)};
  path.remove_suffix(name.size());
  if (!path.empty()) path.remove_suffix(1);
  if (same_token(after_last_slash(path), token_)) {
    if (name.empty()) return page();
    if (name == "data.json") return data();
  }
  return http_refusal("404 Not Found");
}

HttpAnswer LiveSite::page() const {
  const std::string nonce = random_token();
  return {.type = "text/html; charset=utf-8",
          .body = live_page_html(nonce),
          .headers = std::string(kHeaders) + policy(nonce)};
}

HttpAnswer LiveSite::data() const {
  nlohmann::ordered_json json = history_.json();
  json["interval_s"] = std::chrono::duration<double>(interval_).count();
  return {.type = "application/json",
          .body = json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace),
          .headers = std::string(kHeaders)};
}

}  // namespace penstock
