#include <algorithm>

#include <formats/encodings.hpp>

namespace penstock {
namespace {

constexpr auto kEncodings = [] {
  using enum ValueKind;
  return std::to_array<Encoding>({
      // The known encodings. A test checks that each codec has rows here and that their traits match its behaviour.
      {"jpeg", image, {"jpg", "jpeg", "jpe"}, "\xFF\xD8", true, {.photograph = true, .jpeg_file = true}},
      {"png", image, {"png"}, "\x89PNG\r\n\x1A\n", true},
      {"webp", image, {"webp"}, "RIFF????WEBP", true},
      // Only pack writes these, under the field name of the photograph.
      {"jpt", image, {}, "JPT\1", false, {.photograph = true}},
      {"npy", array, {"npy"}, "\x93NUMPY", true, {.array_file = true}},
      {"raw", array, {}, {}, false, {.elements = true, .in_place = true}},
      {"tokens", array, {}, {}, false, {.elements = true, .tokens = true}},  // blocks from token_blocks()
      {"cls", text, {"cls"}, {}, false, {.label = true}},
      {"txt", text, {"txt"}, {}, false, {.free_text = true}},
      {"json", text, {"json"}, {}, false, {.members = true}},
      {"las", cloud, {"las"}, "LASF", true},
      {"laz", cloud, {"laz"}, "LASF", true},
      {"ply", cloud, {"ply"}, "ply", true},
      {"pcd", cloud, {"pcd"}, {}, true},
      {"off", cloud, {"off"}, {}, true, {.mesh = true}},
      {"points", cloud, {}, "PSPOINTS"},  // written only by pack, under the field name of the cloud
      // Points as text. Each extension keeps its name. Extensions that other texts share are not media, so such files
      // are notes beside media.
      {"xyz", cloud, {"xyz"}, {}, true},
      {"xyz", cloud, {"pts"}, {}, true},
      {"xyz", cloud, {"asc"}},
      {"xyz", cloud, {"csv"}, {}, false, {.table = true}},
      // Images that Pillow writes and penstock cannot decode.
      {"", image, {"bmp"}, "BM", true},
      {"", image, {"gif"}, "GIF8", true},
      {"", image, {"tif"}, std::string_view("II*\0", 4), true},
      {"", image, {"tif"}, std::string_view("MM\0*", 4), true},
      {"", image, {"tiff"}, {}, true},
      {"", image, {"ppm"}, {}, true},
      {"", image, {"pgm"}, {}, true},
      // Other files that can be part of a sample.
      {"", other, {"bin"}, {}, true, {.bare_points = true}},
      {"", other, {"cls2"}, {}, false, {.int_text = true}},
      {"", other, {"e57"}, {}, true},
      {"", other, {"exr"}, {}, true},
      {"", other, {"flac"}, "fLaC"},
      {"", other, {"hdr"}, {}, true},
      {"", other, {"id"}, {}, false, {.int_text = true}},
      {"", other, {"index"}, {}, false, {.int_text = true}},
      {"", other, {"inx"}, {}, false, {.int_text = true}},
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

const EncodingTraits& traits_of(const Encoding* encoding) {
  static constexpr EncodingTraits kNone;
  return encoding == nullptr ? kNone : encoding->traits;
}

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

const EncodingTraits& codec_traits(std::string_view codec) {
  return traits_of(encoding_of_codec(codec));
}

const EncodingTraits& extension_traits(std::string_view extension) {
  return traits_of(encoding_with_extension(extension));
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
