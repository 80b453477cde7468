#include <algorithm>
#include <array>

#include <formats/encodings.hpp>

namespace penstock {
namespace {

constexpr auto kEncodings = [] {
  using enum ValueKind;
  return std::to_array<Encoding>({
      // What penstock decodes. A test checks that each codec has its rows here, and that the rows say what it does.
      {"jpeg", image, {"jpg", "jpeg", "jpe"}, "\xFF\xD8", true},
      {"png", image, {"png"}, "\x89PNG\r\n\x1A\n", true},
      {"webp", image, {"webp"}, "RIFF????WEBP", true},
      {"jpt", image, {}, "JPT\1"},  // written by pack alone, under the name of the photograph's field
      {"npy", array, {"npy"}, "\x93NUMPY", true},
      {"raw", array},
      {"tokens", array},  // of blocks that token_blocks() cuts
      {"cls", text, {"cls"}},
      {"txt", text, {"txt"}},
      {"json", text, {"json"}},
      {"las", cloud, {"las"}, "LASF", true},
      {"laz", cloud, {"laz"}, "LASF", true},
      {"ply", cloud, {"ply"}, "ply", true},
      {"pcd", cloud, {"pcd"}, {}, true},
      {"off", cloud, {"off"}, {}, true},
      {"points", cloud, {}, "PSPOINTS"},  // written by pack alone, under the name of the cloud's field
      // Points as text. Each extension keeps its name; those that other texts have too are notes beside media.
      {"xyz", cloud, {"xyz"}, {}, true},
      {"xyz", cloud, {"pts"}, {}, true},
      {"xyz", cloud, {"asc"}},
      {"xyz", cloud, {"csv"}},
      // Images that Pillow writes and penstock does not decode.
      {"", image, {"bmp"}, "BM", true},
      {"", image, {"gif"}, "GIF8", true},
      {"", image, {"tif"}, std::string_view("II*\0", 4), true},
      {"", image, {"tif"}, std::string_view("MM\0*", 4), true},
      {"", image, {"tiff"}, {}, true},
      {"", image, {"ppm"}, {}, true},
      {"", image, {"pgm"}, {}, true},
      // Other files that samples are made of.
      {"", other, {"bin"}, {}, true},
      {"", other, {"e57"}, {}, true},
      {"", other, {"exr"}, {}, true},
      {"", other, {"flac"}, "fLaC"},
      {"", other, {"hdr"}, {}, true},
      {"", other, {"jfif"}, {}, true},
      {"", other, {"jp2"}, {}, true},
      {"", other, {"jxl"}, {}, true},
      {"", other, {"mp3"}, "ID3"},
      {"", other, {"npz"}, {}, true},
      {"", other, {"ogg"}, "OggS"},
      {"", other, {"pnm"}, {}, true},
      {"", other, {"pt"}, {}, true},
      {"", other, {"pth"}, {}, true},
      {"", other, {"raw"}, {}, true},
      {"", other, {"wav"}, "RIFF????WAVE"},
      {"", other, {"xyzn"}, {}, true},
      {"", other, {"xyzrgb"}, {}, true},
  });
}();

}  // namespace

std::string_view name(ValueKind kind) {
  constexpr std::array<std::string_view, 5> kNames{"image", "cloud", "array", "text", "other"};
  return kNames.at(static_cast<std::size_t>(kind));
}

std::span<const Encoding> encodings() {
  return kEncodings;
}

const Encoding* encoding_with_extension(std::string_view extension) {
  if (extension.empty()) return nullptr;
  const auto* found = std::ranges::find_if(kEncodings, [&](const Encoding& encoding) {
    return std::ranges::find(encoding.extensions, extension) != encoding.extensions.end();
  });
  return found == kEncodings.end() ? nullptr : found;
}

const Encoding* encoding_of_codec(std::string_view codec) {
  const auto* found = std::ranges::find(kEncodings, codec, &Encoding::codec);
  return codec.empty() || found == kEncodings.end() ? nullptr : found;
}

ValueKind kind_of_codec(std::string_view codec) {
  const Encoding* encoding = encoding_of_codec(codec);
  return encoding == nullptr ? ValueKind::other : encoding->kind;
}

bool begins_as(const Encoding& encoding, std::span<const std::byte> bytes) {
  const std::string_view magic = encoding.magic;
  if (magic.empty() || bytes.size() < magic.size()) return false;
  return std::ranges::equal(magic, bytes.first(magic.size()), [](char wanted, std::byte found) {
    return wanted == '?' || static_cast<std::byte>(wanted) == found;
  });
}

}  // namespace penstock
