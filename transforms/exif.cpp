#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include <penstock/transforms/exif.hpp>

namespace penstock {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::array kExif{std::byte{'E'}, std::byte{'x'}, std::byte{'i'}, std::byte{'f'}, std::byte{0}, std::byte{0}};
constexpr unsigned kMark = 0xFF, kStartOfImage = 0xD8, kApplication1 = 0xE1, kStartOfScan = 0xDA;
constexpr std::uint32_t kOrientation = 0x112, kShort = 3;

/// Numbers of a TIFF structure, in its order of bytes; 0 behind its end.
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

/// The payload of the first Exif segment before the image's data.
std::optional<Bytes> exif_of(Bytes file) {
  const auto at = [&](std::size_t offset) { return std::to_integer<unsigned>(file[offset]); };
  for (std::size_t i = 2; i + 4 <= file.size() && at(i) == kMark;) {
    const unsigned marker = at(i + 1);
    if (marker == kMark) {  // a fill byte
      ++i;
      continue;
    }
    const std::size_t length = at(i + 2) << 8 | at(i + 3);
    if (marker == kStartOfScan || length < 2 || i + 2 + length > file.size()) return std::nullopt;
    const Bytes payload = file.subspan(i + 4, length - 2);
    const bool exif = payload.size() >= kExif.size() && std::ranges::equal(payload.first(kExif.size()), kExif);
    if (marker == kApplication1 && exif) return payload.subspan(kExif.size());
    i += 2 + length;
  }
  return std::nullopt;
}

}  // namespace

unsigned exif_orientation(Bytes jpeg_file) {
  if (jpeg_file.size() < 2 || std::to_integer<unsigned>(jpeg_file[1]) != kStartOfImage) return 1;
  const std::optional<Bytes> exif = exif_of(jpeg_file);
  return exif ? orientation_in(Tiff(*exif)) : 1;
}

}  // namespace penstock
