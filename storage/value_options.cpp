#include <algorithm>
#include <array>
#include <string>

#include <penstock/error.hpp>
#include <penstock/storage.hpp>

namespace penstock {
namespace {

constexpr std::array<std::string_view, 3> kCacheNames{"none", "encoded", "decoded"};
constexpr std::array<std::string_view, 2> kScopeNames{"process", "node"};

}  // namespace

std::string_view name(Checksums checksums) {
  constexpr std::string_view kNames[]{"off", "first", "always"};
  return kNames[static_cast<std::size_t>(checksums)];
}

Checksums checksums_named(std::string_view given) {
  for (const Checksums checksums : {Checksums::off, Checksums::first, Checksums::always})
    if (name(checksums) == given) return checksums;
  throw Error::invalid_argument("checksums must be \"off\", \"first\" or \"always\", not \"" + std::string(given) +
                                "\"");
}

std::string_view name(CacheKind kind) {
  return kCacheNames.at(static_cast<std::size_t>(kind));
}

CacheKind cache_named(std::string_view name) {
  const auto found = std::ranges::find(kCacheNames, name);
  if (found != kCacheNames.end()) return static_cast<CacheKind>(found - kCacheNames.begin());
  throw Error::invalid_argument("unknown cache \"" + std::string(name) + "\"; expected none, encoded or decoded");
}

std::string_view name(CacheScope scope) {
  return kScopeNames.at(static_cast<std::size_t>(scope));
}

CacheScope cache_scope_named(std::string_view name) {
  const auto found = std::ranges::find(kScopeNames, name);
  if (found != kScopeNames.end()) return static_cast<CacheScope>(found - kScopeNames.begin());
  throw Error::invalid_argument("unknown scope of a cache \"" + std::string(name) + "\"; expected process or node");
}

}  // namespace penstock
