#include <cstring>
#include <string>

#include <formats/filters/lzf.hpp>
#include <penstock/error.hpp>

namespace penstock {

// A control byte below 32 begins a run: that many bytes plus one follow unchanged.
// Any other control byte is a copy. Its upper three bits are the length minus 2 (7: the next byte is added). Its lower
// five bits and the following byte are the distance minus 1.
//
// A copy may overlap its own output.
std::size_t lzf_decompress_up_to(std::span<const std::byte> stored, std::span<std::byte> plain) {
  constexpr unsigned kLongest = 7;
  const auto broken = [] { return Error::corrupt("lzf block is broken"); };
  std::size_t at = 0, made = 0;
  const auto next = [&] {
    if (at == stored.size()) throw broken();
    return std::to_integer<unsigned>(stored[at++]);
  };
  while (at < stored.size()) {
    const unsigned control = next();
    if (control < 32) {
      const std::size_t run = control + 1;
      if (run > stored.size() - at || run > plain.size() - made) throw broken();
      std::memcpy(plain.data() + made, stored.data() + at, run);
      at += run;
      made += run;
      continue;
    }
    std::size_t length = control >> 5;
    if (length == kLongest) length += next();
    length += 2;
    const std::size_t back = (std::size_t{control & 31} << 8 | next()) + 1;
    if (back > made || length > plain.size() - made) throw broken();
    std::byte* to = plain.data() + made;
    const std::byte* from = to - back;
    if (back >= length) {
      std::memcpy(to, from, length);
    } else {
      for (std::size_t i = 0; i < length; ++i) to[i] = from[i];
    }
    made += length;
  }
  return made;
}

void lzf_decompress(std::span<const std::byte> stored, std::span<std::byte> plain) {
  if (lzf_decompress_up_to(stored, plain) != plain.size())
    throw Error::corrupt("lzf block does not hold " + std::to_string(plain.size()) + " bytes");
}

}  // namespace penstock
