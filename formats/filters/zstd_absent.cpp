// Replaces zstd.cpp where libzstd is not found.
#include <string>

#include <penstock/base/error.hpp>
#include <penstock/formats/filters/zstd.hpp>

namespace penstock {

bool zstd_is_linked() {
  return false;
}

void zstd_decompress(std::span<const std::byte> /*stored*/, std::span<std::byte> /*plain*/) {
  throw Error::unsupported("a zstd block: " + std::string(kZstdIsAbsent));
}

}  // namespace penstock
