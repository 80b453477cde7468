// Replaces lz4.cpp if liblz4 is not found.
#include <formats/filters/lz4.hpp>
#include <penstock/error.hpp>

namespace penstock {

bool lz4_is_linked() {
  return false;
}

void lz4_decompress(std::span<const std::byte> stored, std::span<std::byte> plain) {
  lz4_decompress_block(stored, plain);
}

void lz4_decompress_block(std::span<const std::byte> /*stored*/, std::span<std::byte> /*plain*/) {
  throw Error::unsupported("a lz4 block: this build has no lz4 (install liblz4-dev and build again)");
}

}  // namespace penstock
