// Replaces blosc.cpp where libblosc is not found.
#include <penstock/base/error.hpp>
#include <penstock/formats/filters/blosc.hpp>

namespace penstock {

bool blosc_is_linked() {
  return false;
}

void blosc_decompress(std::span<const std::byte> /*stored*/, std::span<std::byte> /*plain*/) {
  throw Error::unsupported("a blosc block: this build has no blosc (install libblosc-dev and build again)");
}

}  // namespace penstock
