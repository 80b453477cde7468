#include <climits>
#include <string>

#include <bzlib.h>

#include <formats/filters/bzip2.hpp>
#include <penstock/error.hpp>

namespace penstock {

bool bzip2_is_linked() {
  return true;
}

void bzip2_decompress(std::span<const std::byte> stored, std::span<std::byte> plain) {
  constexpr int kFast = 0, kSilent = 0;
  const auto holds_other = [&] {
    return Error::corrupt("bzip2 block does not hold " + std::to_string(plain.size()) + " bytes");
  };
  if (stored.size() > UINT_MAX || plain.size() > UINT_MAX) throw Error::unsupported("a bzip2 block of 4 GiB or more");
  char nothing{};  // the library requires a valid address even for no bytes
  char* target = plain.empty() ? &nothing : reinterpret_cast<char*>(plain.data());
  auto made = static_cast<unsigned>(plain.size());
  // The library takes the stored bytes without const, and does not change them.
  auto* source = const_cast<char*>(reinterpret_cast<const char*>(stored.data()));
  switch (BZ2_bzBuffToBuffDecompress(target, &made, source, static_cast<unsigned>(stored.size()), kFast, kSilent)) {
    case BZ_OK:
      if (made != plain.size()) throw holds_other();
      return;
    case BZ_OUTBUFF_FULL:
      throw holds_other();
    case BZ_MEM_ERROR:
      throw Error::resource("no memory for a bzip2 decompressor");
    default:
      throw Error::corrupt("bzip2 block is broken");
  }
}

}  // namespace penstock
