#include <string>

#include <blosc.h>

#include <formats/filters/blosc.hpp>
#include <penstock/error.hpp>

namespace penstock {

bool blosc_is_linked() {
  return true;
}

void blosc_decompress(std::span<const std::byte> stored, std::span<std::byte> plain) {
  std::size_t length = 0;
  if (blosc_cbuffer_validate(stored.data(), stored.size(), &length) < 0) throw Error::corrupt("blosc block is broken");
  if (length != plain.size())
    throw Error::corrupt("blosc block does not hold " + std::to_string(plain.size()) + " bytes");
  constexpr int kThreads = 1;  // the _ctx functions share no state between threads
  const int made = blosc_decompress_ctx(stored.data(), plain.data(), plain.size(), kThreads);
  if (made < 0 || static_cast<std::size_t>(made) != plain.size()) throw Error::corrupt("blosc block is broken");
}

}  // namespace penstock
