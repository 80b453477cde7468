#include <charconv>
#include <nlohmann/json.hpp>

#include <formats/packed/manifest.hpp>
#include <formats/text/json_cause.hpp>
#include <formats/text/json_depth.hpp>
#include <formats/text/json_number.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// Returns eight hexadecimal digits, the usual form of checksums.
std::string digits_of(std::uint32_t value) {
  std::string digits(8, '0');
  for (std::size_t i = 8; i-- > 0; value >>= 4) digits[i] = "0123456789abcdef"[value & 15];
  return digits;
}

std::uint32_t from_digits(const std::string& digits) {
  std::uint32_t value = 0;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (failure != std::errc() || end != digits.data() + digits.size())
    throw Error::corrupt("invalid checksum: " + digits);
  return value;
}

Json json_of(const FieldSchema& field) {
  Json json{{"name", field.name}, {"codec", field.codec}};
  if (field.fixed) {
    json["dtype"] = name(field.dtype);
    json["shape"] = field.shape;
  }
  return json;
}

FieldSchema field_from(const Json& json) {
  FieldSchema field{.name = json.at("name"), .codec = json.at("codec")};
  if (json.contains("dtype")) {
    const auto dtype = dtype_named(json.at("dtype").get<std::string>());
    if (!dtype) throw Error::corrupt("unknown dtype of field " + field.name);
    field.dtype = *dtype;
    for (const Json& side : json.at("shape")) field.shape.push_back(static_cast<std::int64_t>(whole_number(side)));
    element_count(field.shape);
    field.fixed = true;
  }
  return field;
}

Json json_of(const ManifestShard& shard) {
  return {{"name", shard.name},
          {"samples", shard.samples},
          {"bytes", shard.bytes},
          {"crc32c", digits_of(shard.crc32c)},
          {"index", digits_of(shard.index)}};
}

ManifestShard shard_from(const Json& json) {
  ManifestShard shard{.name = json.at("name"),
                      .samples = whole_number(json.at("samples")),
                      .bytes = whole_number(json.at("bytes")),
                      .crc32c = from_digits(json.at("crc32c")),
                      .index = from_digits(json.at("index"))};
  const bool is_plain = shard.name == fs::path(shard.name).filename() && !shard.name.empty() && shard.name[0] != '.';
  if (!is_plain) throw Error::corrupt("invalid name of a shard: " + shard.name);
  return shard;
}

// Calls `read` and converts exceptions of the JSON library to an Error.
template <typename Read>
auto reading(const char* what, const Read& read) {
  try {
    return read();
  } catch (const Json::exception& error) {
    throw Error::corrupt(std::string("not ") + what + ": " + json_cause(error));
  }
}

}  // namespace

std::string Manifest::to_json() const {
  Json json{{"penstock", kVersion}, {"format", format}, {"samples", samples}};
  json["fields"] = Json::array();
  for (const FieldSchema& field : fields) json["fields"].push_back(json_of(field));
  json["classes"] = classes;
  json["shards"] = Json::array();
  for (const ManifestShard& shard : shards) json["shards"].push_back(json_of(shard));
  json["made_with"] = reading("JSON options", [&] { return Json::parse(made_with); });
  return reading("UTF-8 text", [&] { return json.dump(1) + "\n"; });
}

Manifest Manifest::from_json(std::string_view text) {
  return reading("a dataset description", [&] {
    require_shallow_json(text);
    const Json json = Json::parse(text);
    const std::uint64_t version = whole_number(json.at("penstock"));
    if (version != static_cast<std::uint64_t>(kVersion)) {
      throw Error::unsupported("a packed dataset of version " + std::to_string(version) +
                               "; this build reads version " + std::to_string(kVersion));
    }
    Manifest manifest{.format = json.at("format"),
                      .samples = whole_number(json.at("samples")),
                      .fields = {},
                      .classes = json.at("classes"),
                      .shards = {},
                      .made_with = json.at("made_with").dump()};
    for (const Json& field : json.at("fields")) manifest.fields.push_back(field_from(field));
    for (const Json& shard : json.at("shards")) manifest.shards.push_back(shard_from(shard));
    return manifest;
  });
}

std::string to_json(const ManifestShard& shard) {
  return json_of(shard).dump();
}

ManifestShard shard_from_json(std::string_view text) {
  return reading("a shard's description", [&] { return shard_from(Json::parse(text)); });
}

void require_same_options(std::string_view before, std::string_view now, const std::string& what) {
  if (before == now) return;
  const Json old = Json::parse(before, nullptr, false), asked = Json::parse(now);
  for (const auto& [name, value] : asked.items()) {
    const Json was = old.is_object() && old.contains(name) ? old[name] : Json();
    if (was == value) continue;
    throw Error::invalid_argument(what + ": " + name + " was " + was.dump() + ", now " + value.dump());
  }
  throw Error::invalid_argument(what);
}

fs::path index_name(const fs::path& shard) {
  return fs::path(shard).replace_extension(".idx");
}

}  // namespace penstock
