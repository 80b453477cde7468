#include <nlohmann/json.hpp>

#include <penstock/formats/error.hpp>
#include <penstock/formats/manifest.hpp>
#include <penstock/loader/recoding.hpp>
#include <penstock/transforms/clouds/packed_cloud.hpp>
#include <penstock/transforms/jpeg.hpp>

namespace penstock {
namespace {

bool may_be_jpeg(const FieldSchema& field) {
  return field.codec == "jpeg" || field.codec == "png" || field.codec.empty();  // a JPEG may be called .png
}

}  // namespace

bool Recoding::takes(const FieldSchema& field) const {
  return (!jpeg.keeps_all() && may_be_jpeg(field)) || (!clouds.keeps_all() && CloudRecoder::takes(field));
}

FieldSchema Recoding::made(FieldSchema field) const {
  if (!clouds.keeps_all() && CloudRecoder::takes(field)) field.codec = packed_cloud_codec().name();
  return field;
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
  } catch (const nlohmann::json::exception&) {
    throw Error::corrupt("penstock.json says in an unknown way how values were made over");
  }
  return recoding;
}

FieldRecoder::FieldRecoder(const Recoding& recoding) {
  if (!recoding.jpeg.keeps_all()) jpeg_.emplace(recoding.jpeg);
  if (!recoding.clouds.keeps_all()) clouds_.emplace(recoding.clouds);
}

std::span<const std::byte> FieldRecoder::recode(const FieldSchema& field, std::string_view key,
                                                std::span<const std::byte> value) {
  if (clouds_ && CloudRecoder::takes(field)) return clouds_->recode(field, key, value);
  if (jpeg_ && may_be_jpeg(field) && jpeg_codec().recognises(value)) return jpeg_->recode(value);
  return value;
}

}  // namespace penstock
