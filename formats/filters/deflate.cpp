#include <memory>
#include <optional>
#include <string>

#include <libdeflate.h>

#include <formats/filters/deflate.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

struct CloseInflater {
  void operator()(libdeflate_decompressor* inflater) const { libdeflate_free_decompressor(inflater); }
};

// One per thread, so that a block needs no allocation. The decompressor carries no state between calls.
libdeflate_decompressor& inflater() {
  thread_local std::unique_ptr<libdeflate_decompressor, CloseInflater> kept{libdeflate_alloc_decompressor()};
  if (!kept) throw Error::resource("no memory for a deflate decompressor");
  return *kept;
}

// Returns nothing if the bytes are more than there is room for.
template <typename Inflate>
std::optional<std::size_t> inflate_up_to(Inflate&& step, std::span<const std::byte> stored, std::span<std::byte> room) {
  std::byte nothing{};  // the library requires a valid address even for no bytes
  std::byte* target = room.empty() ? &nothing : room.data();
  std::size_t made = 0;
  const libdeflate_result result = step(&inflater(), stored.data(), stored.size(), target, room.size(), &made);
  if (result == LIBDEFLATE_INSUFFICIENT_SPACE) return std::nullopt;
  if (result != LIBDEFLATE_SUCCESS) throw Error::corrupt("deflated block is broken");
  return made;
}

template <typename Inflate>
void inflate(Inflate&& step, std::span<const std::byte> stored, std::span<std::byte> plain) {
  if (inflate_up_to(step, stored, plain) != plain.size())
    throw Error::corrupt("deflated block does not hold " + std::to_string(plain.size()) + " bytes");
}

}  // namespace

void inflate_zlib(std::span<const std::byte> stored, std::span<std::byte> plain) {
  inflate(libdeflate_zlib_decompress, stored, plain);
}

std::size_t inflate_zlib_up_to(std::span<const std::byte> stored, std::span<std::byte> room) {
  const std::optional<std::size_t> made = inflate_up_to(libdeflate_zlib_decompress, stored, room);
  if (!made) throw Error::corrupt("deflated block holds more than " + std::to_string(room.size()) + " bytes");
  return *made;
}

void inflate_raw(std::span<const std::byte> stored, std::span<std::byte> plain) {
  inflate(libdeflate_deflate_decompress, stored, plain);
}

std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t crc) {
  if (bytes.empty()) return crc;  // the library treats a null address differently
  return libdeflate_crc32(crc, bytes.data(), bytes.size());
}

}  // namespace penstock
