#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include <transforms/image/codecs/exif.hpp>

namespace penstock {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::array kExif{std::byte{'E'}, std::byte{'x'}, std::byte{'i'}, std::byte{'f'}, std::byte{0}, std::byte{0}};
constexpr unsigned kMark = 0xFF, kStartOfImage = 0xD8, kApplication1 = 0xE1, kStartOfScan = 0xDA;
constexpr std::uint32_t kOrientation = 0x112, kShort = 3;

/// Reads numbers of a TIFF structure in its byte order. Reads after the end return 0.
class Tiff {
 public:
  explicit Tiff(Bytes bytes) : bytes_(bytes), little_(at(0) == 'I') {}

  std::uint32_t half(std::size_t offset) const {
    return little_ ? at(offset) | at(offset + 1) << 8 : at(offset) << 8 | at(offset + 1);
  }
  std::uint32_t word(std::size_t offset) const {
    return little_ ? half(offset) | half(offset + 2) << 16 : half(offset) << 16 | half(offset + 2);
  }

 private:
  std::uint32_t at(std::size_t offset) const {
    return offset < bytes_.size() ? std::to_integer<std::uint32_t>(bytes_[offset]) : 0;
  }
  Bytes bytes_;
  bool little_;
};

unsigned orientation_in(const Tiff& tiff) {
  const std::size_t directory = tiff.word(4);
  const std::size_t entries = tiff.half(directory);
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t entry = directory + 2 + 12 * i;
    if (tiff.half(entry) != kOrientation) continue;
    const std::uint32_t value = tiff.half(entry + 8);
    return tiff.half(entry + 2) == kShort && value >= 1 && value <= 8 ? value : 1;
  }
  return 1;
}

bool begins_with(Bytes bytes, Bytes with) {
  return bytes.size() >= with.size() && std::ranges::equal(bytes.first(with.size()), with);
}

unsigned orientation_of(const std::optional<Bytes>& tiff) {
  return tiff ? orientation_in(Tiff(*tiff)) : 1;
}

/// Returns the payload of the first Exif segment before the image data.
std::optional<Bytes> segment_of_jpeg(Bytes file) {
  const auto at = [&](std::size_t offset) { return std::to_integer<unsigned>(file[offset]); };
  for (std::size_t i = 2; i + 4 <= file.size();) {
    const unsigned marker = at(i + 1);
    // Fill bytes and stray bytes are skipped like in libjpeg.
    if (at(i) != kMark || marker == kMark || marker == 0) {
      ++i;
      continue;
    }
    const std::size_t length = at(i + 2) << 8 | at(i + 3);
    if (marker == kStartOfScan || length < 2 || i + 2 + length > file.size()) return std::nullopt;
    const Bytes payload = file.subspan(i + 4, length - 2);
    if (marker == kApplication1 && begins_with(payload, kExif)) return payload.subspan(kExif.size());
    i += 2 + length;
  }
  return std::nullopt;
}

/// Layout of a file that is a sequence of chunks.
struct Chunks {
  std::size_t first;   ///< offset of the first chunk
  std::size_t name;    ///< offset of the name in a chunk's 8-byte head; the length is the other half
  bool little_endian;  ///< byte order of the length
  std::size_t behind;  ///< bytes of the checksum after the data
  std::size_t even;    ///< alignment of a chunk's size
};
constexpr Chunks kPng{8, 4, false, 4, 1}, kRiff{12, 0, true, 0, 2};
constexpr std::size_t kHead = 8;

/// Returns the first chunk with this name.
std::optional<Bytes> chunk_of(Bytes file, const Chunks& chunks, std::string_view name) {
  const auto at = [&](std::size_t offset) { return std::to_integer<std::size_t>(file[offset]); };
  for (std::size_t i = chunks.first; i <= file.size() && file.size() - i >= kHead;) {
    const std::size_t number = i + 4 - chunks.name;
    std::size_t length = 0;
    for (std::size_t b = 0; b < 4; ++b) length |= at(number + b) << 8 * (chunks.little_endian ? b : 3 - b);
    if (length > file.size() - i - kHead) return std::nullopt;
    const Bytes payload = file.subspan(i + kHead, length);
    if (begins_with(file.subspan(i + chunks.name), std::as_bytes(std::span(name)))) return payload;
    i += kHead + (length + chunks.even - 1) / chunks.even * chunks.even + chunks.behind;
  }
  return std::nullopt;
}

}  // namespace

unsigned exif_orientation(Bytes jpeg_file) {
  if (jpeg_file.size() < 2 || std::to_integer<unsigned>(jpeg_file[1]) != kStartOfImage) return 1;
  return orientation_of(segment_of_jpeg(jpeg_file));
}

unsigned png_orientation(Bytes png_file) {
  return orientation_of(chunk_of(png_file, kPng, "eXIf"));
}

unsigned webp_orientation(Bytes webp_file) {
  std::optional<Bytes> exif = chunk_of(webp_file, kRiff, "EXIF");
  // Some writers put the JPEG prefix "Exif" into the chunk.
  if (exif && begins_with(*exif, kExif)) exif = exif->subspan(kExif.size());
  return orientation_of(exif);
}

}  // namespace penstock
