// Lists all codecs, and finds the codec of a value.
#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include <formats/encodings.hpp>
#include <formats/field_types.hpp>
#include <penstock/codec.hpp>
#include <penstock/error.hpp>
#include <transforms/clouds/codecs/las.hpp>
#include <transforms/clouds/codecs/off.hpp>
#include <transforms/clouds/codecs/packed_cloud.hpp>
#include <transforms/clouds/codecs/pcd.hpp>
#include <transforms/clouds/codecs/ply.hpp>
#include <transforms/clouds/codecs/xyz.hpp>
#include <transforms/clouds/laz/laz.hpp>
#include <transforms/first_bytes.hpp>
#include <transforms/image/codecs/png.hpp>
#include <transforms/image/codecs/webp.hpp>
#include <transforms/image/jpeg/jpeg.hpp>
#include <transforms/image/jpt/jpt.hpp>
#include <transforms/values/npy.hpp>
#include <transforms/values/raw.hpp>
#include <transforms/values/text.hpp>
#include <transforms/values/tokens.hpp>

namespace penstock {
namespace {

template <class... Kinds>
std::array<const Codec*, sizeof...(Kinds)> listed(const Kinds&... codecs) {
  return {&codecs...};
}

// Codecs that recognise a value's first bytes, in the order in which they are asked.
auto with_magic() {
  return listed(jpeg_codec(), jpt_codec(), png_codec(), webp_codec(), npy_codec(), las_codec(), laz_codec(),
                packed_cloud_codec(), ply_codec(), pcd_codec(), off_codec());
}

// These codecs accept any bytes, so only the schema selects them.
auto without_magic() {
  return listed(xyz_codec(), class_index_codec(), txt_codec(), json_codec(), raw_codec(), tokens_codec());
}

template <std::size_t First, std::size_t Second>
auto joined(std::array<const Codec*, First> first, std::array<const Codec*, Second> second) {
  std::array<const Codec*, First + Second> all{};
  std::ranges::copy(second, std::ranges::copy(first, all.begin()).out);
  return all;
}

// Throws Error: unsupported, if the value is an image that penstock cannot decode. The first bytes decide. If the
// schema names no codec, the field's extension counts too.
void refuse_foreign_image(const FieldSchema& schema, std::span<const std::byte> bytes) {
  const auto of_kind = [&](const Encoding& encoding) {
    return encoding.kind == ValueKind::image && encoding.codec.empty() && begins_as(encoding, bytes);
  };
  const auto begun = std::ranges::find_if(encodings(), of_kind);
  const Encoding* found =
      begun != encodings().end() ? &*begun
      : schema.codec.empty() ? encoding_with_extension(std::string_view(schema.name).substr(schema.name.rfind('.') + 1))
                             : nullptr;
  if (found == nullptr || found->kind != ValueKind::image || !found->codec.empty()) return;
  std::string kind(found->extensions.front());
  std::ranges::transform(kind, kind.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  throw Error::unsupported(
      "is a " + (kind == "TIF" ? "TIFF" : kind) +
          " image; only JPEG, PNG and WebP images can be decoded: convert it with Pillow and ps.Writer when you pack",
      {.field = schema.name});
}

}  // namespace

std::span<const Codec* const> codecs() {
  static const auto all = joined(with_magic(), without_magic());
  return all;
}

const Codec* codec_named(std::string_view name) {
  for (const Codec* codec : codecs()) {
    if (codec->name() == name) return codec;
  }
  return nullptr;
}

const Codec& codec_for(const FieldSchema& schema, std::span<const std::byte> bytes) {
  const Codec* named = codec_named(schema.codec);
  if (named == nullptr && !schema.codec.empty()) {
    throw Error::unsupported("unknown codec '" + schema.codec + "'", {.field = schema.name});
  }
  for (const Codec* plain : without_magic()) {
    if (named == plain) return *plain;
  }
  if (const Codec* codec = recognised_codec(bytes)) return *codec;
  // Photographs that could not be recoded are JPEG files with any first bytes.
  if (named == &jpt_codec() && !bytes.empty()) return jpeg_codec();
  if (named != nullptr) {
    if (kind_of_codec(schema.codec) == ValueKind::image) refuse_foreign_image(schema, bytes);
    return *named;
  }
  if (schema.fixed) return raw_codec();
  refuse_foreign_image(schema, bytes);
  throw Error::unsupported("neither the schema nor the first bytes identify the codec" + disagreement(schema),
                           {.field = schema.name});
}

}  // namespace penstock
