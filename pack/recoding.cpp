#include <algorithm>
#include <nlohmann/json.hpp>

#include <formats/absent_fields.hpp>
#include <formats/encodings.hpp>
#include <formats/extent.hpp>
#include <formats/packed/manifest.hpp>
#include <pack/recoding.hpp>
#include <penstock/error.hpp>
#include <penstock/geometry.hpp>
#include <transforms/clouds/codecs/packed_cloud.hpp>
#include <transforms/image/jpeg/jpeg.hpp>
#include <transforms/image/jpt/jpt.hpp>

namespace penstock {
namespace {

bool is_image(const FieldSchema& field) {
  return kind_of_codec(field.codec) == ValueKind::image;
}

bool may_be_jpeg(const FieldSchema& field) {
  return field.codec.empty() || is_image(field);  // a JPEG file may be named .png
}

// Detects a photograph like a loader does: if the field's name gives the codec, the first bytes may be invalid.
bool is_photograph(const FieldSchema& field, std::span<const std::byte> value) {
  try {
    return codec_traits(codec_for(field, value).name()).photograph;
  } catch (const Error& error) {
    if (!error.is_data_fault()) throw;
    return false;
  }
}

constexpr std::uint64_t kLooked = 1000;  // samples to inspect to find out what a field holds
constexpr std::uint64_t kTries = 16;     // values to inspect; more than one, because the first ones may be corrupt

// Returns the size of the field's first image, upright, or nothing if the field holds other values.
std::optional<Size> first_image(const Dataset& source, std::uint32_t field) {
  std::vector<Piece> pieces;
  std::uint64_t tries = 0;
  for (std::uint64_t sample = 0; sample < source.size() && tries < kTries; ++sample) {
    if (!source.locate(sample, field, pieces)) continue;
    ++tries;
    try {
      const std::vector<std::byte> value = read_field(source, sample, field);
      const FieldSchema& schema = source.fields()[field];
      const Layout layout = codec_for(schema, value).decoder(schema, {.upright = true})->peek({&schema, value});
      if (!layout.image) return std::nullopt;
      return Size{layout.shape.at(1), layout.shape.at(0)};
    } catch (const Error& error) {
      if (!error.is_data_fault()) throw;
    }
  }
  return std::nullopt;
}

// Rejects datasets whose samples have several images. They may be a photograph and its mask, which need different
// treatment.
void require_apart(const Dataset& source, const std::vector<std::string>& fields) {
  std::vector<Piece> pieces;
  for (std::uint64_t sample = 0; sample < std::min(kLooked, source.size()); ++sample) {
    const std::string* first = nullptr;
    for (const std::string& field : fields) {
      if (!source.locate(sample, *source.field(field), pieces)) continue;
      if (first != nullptr) {
        throw Error::invalid_argument("sample " + std::string(source.key(sample)) + " has images in '" + *first +
                                          "' and '" + field + "'; name the fields to decode, for example decode '" +
                                          *first + "=224'",
                                      {.dataset = source.path().string()});
      }
      first = &field;
    }
  }
}

std::vector<std::string> image_fields(const Dataset& source) {
  std::vector<std::string> all, named;
  for (std::uint32_t field = 0; field < source.fields().size(); ++field) {
    if (!first_image(source, field)) continue;
    const std::string& name = source.fields()[field].name;
    all.push_back(name);
    const Encoding* encoding = encoding_with_extension(name);
    if (encoding != nullptr && !encoding->codec.empty() && encoding->kind == ValueKind::image) named.push_back(name);
  }
  if (all.empty())
    throw Error::invalid_argument("no field holds images to decode", {.dataset = source.path().string()});
  const std::vector<std::string>& fields = named.empty() ? all : named;
  require_apart(source, fields);
  return fields;
}

}  // namespace

bool Recoding::takes(const FieldSchema& field) const {
  return pixels.takes(field.name) || (!jpeg.keeps_all() && may_be_jpeg(field)) ||
         (!clouds.keeps_all() && CloudRecoder::takes(field));
}

FieldSchema Recoding::made(FieldSchema field) const {
  if (pixels.takes(field.name)) {
    return {.name = field.name,
            .codec = "raw",
            .dtype = DType::u8,
            .shape = {pixels.height, pixels.width, 3},
            .fixed = true};
  }
  if (!clouds.keeps_all() && CloudRecoder::takes(field)) field.codec = packed_cloud_codec().name();
  if (!jpeg.keeps_all() && codec_traits(field.codec).photograph)
    field.codec = jpeg.policy == JpegRecoding::Policy::recode ? jpt_codec().name() : jpeg_codec().name();
  return field;
}

Recoding resolved(Recoding recoding, const Dataset& source) {
  PixelRecoding& pixels = recoding.pixels;
  if (pixels.keeps_all()) return recoding;
  if (!recoding.jpeg.keeps_all())
    throw Error::invalid_argument(
        "decode cannot be combined with jpeg or max_side, because decoded images are not JPEG files");
  if (pixels.fields.empty()) pixels.fields = image_fields(source);
  for (const std::string& name : pixels.fields) {
    const auto field = source.field(name);
    if (!field) {
      throw Error::invalid_argument(
          "decode names the field '" + name + "', which the dataset does not have" + and_why_no_field(source, name),
          {.dataset = source.path().string()});
    }
    if (pixels.height != 0) continue;
    if (const auto size = first_image(source, *field)) {
      pixels.width = size->width;
      pixels.height = size->height;
    }
  }
  if (pixels.height == 0)
    throw Error::invalid_argument("the size to decode to is unknown, because no image can be read",
                                  {.dataset = source.path().string()});
  return recoding;
}

FieldSchema recognised(FieldSchema field, std::span<const std::byte> value) {
  if (!field.codec.empty()) return field;
  for (const Codec* codec : codecs()) {
    if (!codec->recognises(value)) continue;
    field.codec = codec->name();
    break;
  }
  return field;
}

std::string recoding_json(const Recoding& recoding) {
  nlohmann::ordered_json json;
  if (!recoding.jpeg.keeps_all()) {
    json["jpeg"] = policy_text(recoding.jpeg);
    json["max_side"] = recoding.jpeg.max_side;
  }
  if (!recoding.clouds.keeps_all()) {
    json["presample"] = presample_text(recoding.clouds);
    json["order"] = order_text(recoding.clouds);
    json["attributes"] = attributes_text(recoding.clouds);
  }
  if (!recoding.pixels.keeps_all()) json["decode"] = decode_text(recoding.pixels);
  return json.is_null() ? "{}" : json.dump();
}

Recoding recoding_of(const Dataset& dataset) {
  if (!dataset.packed()) return {};
  const auto made = nlohmann::json::parse(Manifest::from_json(dataset.attributes()).made_with, nullptr, false);
  if (!made.is_object()) return {};
  Recoding recoding;
  try {
    if (made.contains("jpeg")) {
      recoding.jpeg = jpeg_recoding(made.at("jpeg").get<std::string>(), made.value("max_side", std::int64_t{0}));
    }
    if (made.contains("presample")) {
      recoding.clouds = cloud_recoding(made.at("presample").get<std::string>(), made.at("order").get<std::string>(),
                                       made.at("attributes").get<std::string>());
    }
    if (made.contains("decode")) recoding.pixels = pixel_recoding(made.at("decode").get<std::string>());
  } catch (const nlohmann::json::exception&) {
    throw Error::corrupt("penstock.json has an unknown record of how values were re-encoded");
  }
  return recoding;
}

FieldRecoder::FieldRecoder(const Recoding& recoding) : decoded_(recoding.pixels) {
  if (!decoded_.keeps_all()) pixels_.emplace(decoded_);
  if (!recoding.jpeg.keeps_all()) jpeg_.emplace(recoding.jpeg);
  decodes_images_ = recoding.jpeg.max_side != 0 || recoding.jpeg.policy == JpegRecoding::Policy::quality;
  if (!recoding.clouds.keeps_all()) clouds_.emplace(recoding.clouds);
}

std::span<const std::byte> FieldRecoder::recode(const FieldSchema& field, std::string_view key,
                                                std::span<const std::byte> value) {
  kept_ = {};
  if (pixels_ && decoded_.takes(field.name)) return pixels_->recode(field, value);
  if (clouds_ && CloudRecoder::takes(field)) return clouds_->recode(field, key, value);
  if (!jpeg_ || !may_be_jpeg(field)) return value;
  std::span<const std::byte> made = value;
  if (is_photograph(field, value)) {
    made = jpeg_->recode(value);
    kept_ = jpeg_->kept_because();
  }
  // Images that stay as they are must not be damaged either, because the ones that are re-encoded are decoded.
  const bool kept = made.data() == value.data();
  if (kept && decodes_images_ && is_image(recognised(field, value))) images_.read(field, value, read_);
  return made;
}

}  // namespace penstock
