#include <algorithm>
#include <array>
#include <string>

#include <penstock/base/error.hpp>
#include <penstock/loader/cache_kind.hpp>

namespace penstock {
namespace {

constexpr std::array<std::string_view, 3> kCacheNames{"none", "encoded", "decoded"};

}  // namespace

std::string_view name(CacheKind kind) {
  return kCacheNames.at(static_cast<std::size_t>(kind));
}

CacheKind cache_named(std::string_view name) {
  const auto found = std::ranges::find(kCacheNames, name);
  if (found != kCacheNames.end()) return static_cast<CacheKind>(found - kCacheNames.begin());
  throw Error::invalid_argument("no cache is called \"" + std::string(name) + "\": none, encoded or decoded");
}

}  // namespace penstock
