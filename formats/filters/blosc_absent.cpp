// Replaces blosc.cpp if libblosc is not found.
#include <formats/filters/blosc.hpp>
#include <penstock/error.hpp>

namespace penstock {

bool blosc_is_linked() {
  return false;
}

void blosc_decompress(std::span<const std::byte> /*stored*/, std::span<std::byte> /*plain*/) {
  throw Error::unsupported("a blosc block: this build has no blosc (install libblosc-dev and build again)");
}

}  // namespace penstock
