// The answers of the server of `penstock top --web`.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include <bench/watch/loopback_server.hpp>
#include <bench/web/history.hpp>

namespace penstock {

/// Offers PREFIX/TOKEN/ (the page) and PREFIX/TOKEN/data.json. The prefix may be anything, because some proxies keep
/// their own part of the path. Only the token protects the page: it is required for every answer except 404, and a site
/// that rebinds a name to this machine does not know it. Therefore the Host header, which a proxy may rewrite, is not
/// checked.
class LiveSite {
 public:
  /// `interval`: time between two looks, and between two requests of the page.
  explicit LiveSite(std::chrono::milliseconds interval);

  void add(Look look) { history_.add(std::move(look), std::chrono::system_clock::now()); }
  HttpAnswer answer(std::string_view path) const;
  const std::string& token() const { return token_; }

 private:
  HttpAnswer page() const;
  HttpAnswer data() const;

  std::string token_;
  std::chrono::milliseconds interval_;
  WatchHistory history_;
};

}  // namespace penstock
