// Replaces zstd.cpp if libzstd is not found.
#include <string>

#include <formats/filters/zstd.hpp>
#include <penstock/error.hpp>

namespace penstock {

bool zstd_is_linked() {
  return false;
}

void zstd_decompress(std::span<const std::byte> /*stored*/, std::span<std::byte> /*plain*/) {
  throw Error::unsupported("a zstd block: " + std::string(kZstdIsAbsent));
}

}  // namespace penstock
