// Replaces bzip2.cpp if libbz2 is not found.
#include <formats/filters/bzip2.hpp>
#include <penstock/error.hpp>

namespace penstock {

bool bzip2_is_linked() {
  return false;
}

void bzip2_decompress(std::span<const std::byte> /*stored*/, std::span<std::byte> /*plain*/) {
  throw Error::unsupported("a bzip2 block: this build has no bzip2 (install libbz2-dev and build again)");
}

}  // namespace penstock
