#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include <fcntl.h>

#include <penstock/formats/crc32c.hpp>
#include <penstock/formats/descriptor.hpp>
#include <penstock/formats/error.hpp>
#include <penstock/formats/json_depth.hpp>
#include <penstock/formats/json_number.hpp>
#include <penstock/formats/manifest.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// A number as eight hexadecimal digits, as checksums are usually printed.
std::string digits_of(std::uint32_t value) {
  std::string digits(8, '0');
  for (std::size_t i = 8; i-- > 0; value >>= 4) digits[i] = "0123456789abcdef"[value & 15];
  return digits;
}

std::uint32_t from_digits(const std::string& digits) {
  std::uint32_t value = 0;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (failure != std::errc() || end != digits.data() + digits.size()) throw Error::corrupt("bad checksum: " + digits);
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
  if (!is_plain) throw Error::corrupt("bad name of a shard: " + shard.name);
  return shard;
}

// Runs `read` and turns what the JSON library throws into an Error.
template <typename Read>
auto reading(const char* what, const Read& read) {
  try {
    return read();
  } catch (const Json::exception& error) {
    throw Error::corrupt(std::string("not ") + what + ": " + error.what());
  }
}

// An index of a packed dataset points to files inside its folder only.
fs::path path_inside(const fs::path& folder, const IndexedFile& file) {
  const fs::path path(file.path);
  const bool inside = path.is_relative() && std::find(path.begin(), path.end(), "..") == path.end();
  if (!inside) throw Error::corrupt("the index points outside the dataset: " + file.path);
  return folder / path;
}

std::uint32_t crc_of_header(const Index& index) {
  return crc32c(index.bytes().first(64));
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

ManifestShard describe_shard(const fs::path& folder, std::string name, const Index& index) {
  ManifestShard shard{.name = std::move(name), .samples = index.size(), .index = crc_of_header(index)};
  std::vector<std::byte> buffer(std::size_t{1} << 18);  // stays in a core's cache until it is summed up
  for (std::uint32_t i = 0; i < index.file_count(); ++i) {
    const IndexedFile indexed = index.file(i);
    const fs::path path = path_inside(folder, indexed);
    const Descriptor file = Descriptor::open(path, O_RDONLY);
    std::uint64_t offset = 0;
    while (const std::size_t got = read_at(file.get(), buffer, offset, path)) {
      shard.crc32c = crc32c(std::span(buffer).first(got), shard.crc32c);
      offset += got;
    }
    if (offset != indexed.size) {
      throw Error::corrupt(
          "the file has " + std::to_string(offset) + " bytes, its index says " + std::to_string(indexed.size),
          {.shard = path.string()});
    }
    shard.bytes += offset;
  }
  return shard;
}

void check_shard(const fs::path& folder, const ManifestShard& shard, const Index& index) {
  const ErrorContext context{.dataset = folder.string(), .shard = shard.name};
  if (index.size() != shard.samples || crc_of_header(index) != shard.index) {
    throw Error::corrupt("its index is not the one it was packed with", context);
  }
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < index.file_count(); ++i) {
    std::error_code failure;
    const fs::path path = path_inside(folder, index.file(i));
    bytes += fs::file_size(path, failure);
    if (failure) throw Error::io(failure.value(), "cannot read " + path.string(), context);
  }
  if (bytes != shard.bytes) {
    throw Error::corrupt("has " + std::to_string(bytes) + " bytes, was packed with " + std::to_string(shard.bytes),
                         context);
  }
}

}  // namespace penstock
