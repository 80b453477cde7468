#include <cmath>
#include <cstdlib>
#include <string>

#include <base/printable.hpp>
#include <penstock/error.hpp>
#include <remote/http/settings.hpp>

namespace penstock {
namespace {

double number_of(const char* variable, double without, double least, double most) {
  const char* const text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return without;
  char* end = nullptr;
  const double number = std::strtod(text, &end);
  if (*end != '\0' || !std::isfinite(number) || number < least || number > most)
    throw Error::invalid_argument(std::string(variable) + " is " + double_quoted(text) + "; expected a number from " +
                                  with_commas(static_cast<std::uint64_t>(least)) + " to " +
                                  with_commas(static_cast<std::uint64_t>(most)));
  return number;
}

std::chrono::milliseconds seconds_of(const char* variable, std::chrono::milliseconds without) {
  constexpr double kMostSeconds = 1e6;
  const double seconds = number_of(variable, static_cast<double>(without.count()) / 1e3, 0, kMostSeconds);
  return std::chrono::milliseconds(std::max<std::int64_t>(1, std::llround(seconds * 1e3)));
}

bool names_proxies() {
  for (const char* name : {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"}) {
    const char* const text = std::getenv(name);
    if (text != nullptr && *text != '\0') return true;
  }
  return false;
}

}  // namespace

RemoteSettings read_remote_settings() {
  constexpr double kMostConnections = 1024;
  constexpr double kMost = 1000;
  RemoteSettings settings;
  settings.deadline = seconds_of("PENSTOCK_REMOTE_DEADLINE", settings.deadline);
  settings.connect = seconds_of("PENSTOCK_REMOTE_CONNECT", settings.connect);
  settings.stall = seconds_of("PENSTOCK_REMOTE_STALL", settings.stall);
  settings.connections =
      static_cast<unsigned>(number_of("PENSTOCK_REMOTE_CONNECTIONS", settings.connections, 1, kMostConnections));
  settings.hedge = number_of("PENSTOCK_REMOTE_HEDGE", settings.hedge, 0, kMost);
  settings.tries = static_cast<unsigned>(number_of("PENSTOCK_REMOTE_TRIES", settings.tries, 1, kMost));
  settings.proxies = names_proxies();
  return settings;
}

const RemoteSettings& remote_settings() {
  static const RemoteSettings once = read_remote_settings();
  return once;
}

}  // namespace penstock
