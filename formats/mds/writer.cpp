#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include <formats/encodings.hpp>
#include <formats/extent.hpp>
#include <formats/index/index.hpp>
#include <formats/io/atomic_file.hpp>
#include <formats/io/spill_buffer.hpp>
#include <formats/mds/columns.hpp>
#include <formats/mds/writer.hpp>
#include <formats/packed/sample_order.hpp>
#include <formats/places/header_window.hpp>
#include <formats/streams/buffered_file.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;  // keys in bytewise order, as mosaicml-streaming writes them

constexpr std::string_view kKeyColumn = "__key__";
constexpr std::uint64_t kLargestShard = 0xFFFFFFFF;  // offsets have 32 bits

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string number(std::uint64_t value) {
  std::string text;
  for (int i = 0; i < 4; ++i, value >>= 8) text += static_cast<char>(value & 0xFF);
  return text;
}

/// Returns true for UTF-8, the text that a JSON string may hold.
bool is_utf8(std::string_view text) {
  try {
    Json(text).dump();
    return true;
  } catch (const Json::exception&) {
    return false;
  }
}

bool is_whole_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Returns the preferred encoding for a field's values.
std::string wanted_encoding(const FieldSchema& schema) {
  if (const std::string_view known = mds_encoding_of(schema.codec); !known.empty()) return std::string(known);
  const bool numeric = schema.fixed && schema.dtype != DType::bf16 && schema.dtype != DType::boolean;
  if (!numeric || std::find(schema.shape.begin(), schema.shape.end(), 0) != schema.shape.end()) return "bytes";
  if (schema.shape.empty()) return std::string(name(schema.dtype));
  std::string shape;
  for (const std::int64_t extent : schema.shape) shape += (shape.empty() ? "" : ",") + std::to_string(extent);
  return "ndarray:" + std::string(name(schema.dtype)) + ":" + shape;
}

/// Returns whether mosaicml-streaming would accept the value for that encoding.
bool fits(const std::string& encoding, const FieldSchema& schema, std::string_view value) {
  if (encoding == "str_int") return is_whole_number(value);
  if (encoding == "str") return is_utf8(value);
  if (encoding == "json") return Json::accept(value);
  if (const Encoding* image = encoding_of_codec(encoding)) return begins_as(*image, std::as_bytes(std::span(value)));
  if (encoding == "bytes") return true;
  return value.size() == element_count(schema.shape) * size_of(schema.dtype);
}

/// A column of the shard. Columns are in the order of their names.
struct Column {
  std::string name;
  std::optional<std::uint32_t> field = {};  // empty: the key
  std::string encoding = {};                // "bytes" from the first value on that does not fit the preferred encoding
};

class MdsWriter final : public ShardWriter {
 public:
  MdsWriter(const fs::path& path, const ShardOptions& options)
      : options_(options), order_(options_.fields), file_(path, options.object), samples_(path.string() + ".samples") {
    columns_.push_back({.name = std::string(kKeyColumn), .encoding = "str"});
    for (std::uint32_t field = 0; field < options_.fields.size(); ++field) {
      const FieldSchema& schema = options_.fields[field];
      builder_.field(schema);
      if (schema.name.empty() || schema.name == kKeyColumn || !is_utf8(schema.name)) {
        throw Error::unsupported("an MDS shard cannot hold a field of this name: it is empty, not UTF-8, or __key__",
                                 {.shard = path.filename().string(), .field = schema.name});
      }
      columns_.push_back({.name = schema.name, .field = field, .encoding = wanted_encoding(schema)});
    }
    std::sort(columns_.begin(), columns_.end(), [](const Column& a, const Column& b) { return a.name < b.name; });
    described_ = description().size();
  }

  void add(std::string_view key, std::span<const FieldValue> fields) override {
    const ErrorContext sample{.shard = file_.path().filename().string(), .key = std::string(key)};
    const std::span<const FieldValue> values = order_.sorted(fields, sample);
    std::uint64_t length = 4 * columns_.size() + key.size();
    for (const FieldValue& value : values) length += value.bytes.size();
    if (bytes() + 4 + length > kLargestShard) {
      throw Error::unsupported("an MDS shard has less than 4 GiB: choose a smaller shard size", sample);
    }
    keys_.emplace_back(key);
    first_value_.push_back(values_.size());
    std::string sizes;
    for (Column& column : columns_) sizes += number(bytes_of(column, key, values).size());
    samples_.append(std::as_bytes(std::span(sizes)));
    for (Column& column : columns_) add_value(column, key, values);
    ends_.push_back(static_cast<std::uint32_t>(samples_.size()));
  }

  std::uint64_t bytes() const override { return 4 + 4 * (keys_.size() + 1) + described_ + samples_.size(); }

  Index finish() override {
    const std::string described = description();
    const std::uint64_t begin = 4 + 4 * (keys_.size() + 1) + described.size();
    file_.append(number(keys_.size()) + number(begin));
    for (const std::uint32_t end : ends_) file_.append(number(begin + end));
    file_.append(described);
    samples_.drain([&](std::span<const std::byte> run) { file_.append(run); });
    file_.finish();
    builder_.add_file({.path = file_.path().filename().string(), .size = file_.position(), .stamp = file_.stamp()});
    first_value_.push_back(values_.size());
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      builder_.add_sample(keys_[i]);
      for (std::size_t v = first_value_[i]; v < first_value_[i + 1]; ++v) set(values_[v], begin);
    }
    return std::move(builder_).finish();
  }

  const ObjectStream* object() const override { return file_.object(); }

 private:
  /// A value and its location among the samples. Its position in the file is not known yet.
  struct Value {
    std::uint32_t field;
    std::uint32_t crc32c;
    std::uint64_t offset, length;
    std::vector<std::byte> header;
    std::vector<std::uint32_t> range_sums;
  };

  static std::span<const std::byte> bytes_of(const Column& column, std::string_view key,
                                             std::span<const FieldValue> values) {
    if (!column.field) return std::as_bytes(std::span(key));
    const FieldValue* value = find(column, values);
    return value == nullptr ? std::span<const std::byte>() : value->bytes;
  }

  static const FieldValue* find(const Column& column, std::span<const FieldValue> values) {
    const auto found = std::find_if(values.begin(), values.end(),
                                    [&](const FieldValue& value) { return value.field == column.field; });
    return found == values.end() ? nullptr : &*found;
  }

  void add_value(Column& column, std::string_view key, std::span<const FieldValue> values) {
    const std::span<const std::byte> bytes = bytes_of(column, key, values);
    const FieldValue* value = column.field ? find(column, values) : nullptr;
    const FieldSchema schema = column.field ? options_.fields[*column.field] : FieldSchema{};
    const bool missing = column.field && value == nullptr;
    if (column.encoding != "bytes" && (missing || !fits(column.encoding, schema, as_text(bytes)))) {
      column.encoding = "bytes";
    }
    if (value != nullptr) {
      values_.push_back({.field = value->field,
                         .crc32c = value->crc32c,
                         .offset = samples_.size(),
                         .length = bytes.size(),
                         .header = {value->header.begin(), value->header.end()},
                         .range_sums = {value->range_sums.begin(), value->range_sums.end()}});
    }
    samples_.append(bytes);
  }

  void set(const Value& value, std::uint64_t begin) {
    const Extent extent{.file = 0, .offset = begin + value.offset, .length = value.length};
    builder_.set(value.field, extent, value.crc32c);
    if (!value.header.empty()) builder_.set_header(value.field, value.header);
    if (!value.range_sums.empty()) builder_.set_range_sums(value.field, value.range_sums);
  }

  // Every size is stored in the samples, because the encoding of a column may change until the last value.
  std::string description() const {
    Json json{{"version", 2},
              {"format", "mds"},
              {"compression", nullptr},
              {"hashes", Json::array()},
              {"size_limit", kLargestShard},
              {"column_names", Json::array()}};
    json["column_encodings"] = Json::array();
    json["column_sizes"] = Json::array();
    for (const Column& column : columns_) {
      json["column_names"].push_back(column.name);
      json["column_encodings"].push_back(column.encoding);
      json["column_sizes"].push_back(nullptr);
    }
    return json.dump();
  }

  ShardOptions options_;
  SampleOrder order_;
  BufferedFile file_;
  SpillBuffer samples_;
  std::vector<Column> columns_;
  std::uint64_t described_ = 0;  // approximate bytes of the description
  IndexBuilder builder_;
  std::vector<std::string> keys_;
  std::vector<std::uint32_t> ends_;         // end of each sample in samples_
  std::vector<Value> values_;               // of all samples
  std::vector<std::uint64_t> first_value_;  // index of each sample's first value in values_
};

/// A shard's own description, with the additional members of index.json.
Json entry_of(const fs::path& folder, const std::string& name) {
  HeaderWindow file(folder / name, name);
  const auto samples = little_endian<std::uint32_t>(file.read(0, 4), 0);
  const std::uint64_t begin = 4 + 4 * (std::uint64_t{samples} + 1);
  const auto end = little_endian<std::uint32_t>(file.read(4, 4), 0);
  if (end < begin) throw file.corrupt("no description in the shard", 4);
  const std::string_view text = text_of(file.read(begin, end - begin));
  Json json = Json::parse(text.begin(), text.end(), nullptr, false);
  if (!json.is_object()) throw file.corrupt("no description in the shard", begin);
  json["samples"] = samples;
  json["raw_data"] = {{"basename", name}, {"bytes", file.size()}, {"hashes", Json::object()}};
  json["zip_data"] = nullptr;
  return json;
}

}  // namespace

std::unique_ptr<ShardWriter> write_mds(const fs::path& path, const ShardOptions& options) {
  return std::make_unique<MdsWriter>(path, options);
}

void write_mds_index(const fs::path& folder, std::span<const std::string> shards) {
  Json json{{"version", 2}, {"shards", Json::array()}};
  for (const std::string& name : shards) json["shards"].push_back(entry_of(folder, name));
  const std::string text = json.dump() + "\n";
  write_atomically(folder / "index.json", std::as_bytes(std::span(text)));
}

std::uint64_t mds_room(std::string_view key, std::string_view /*field*/, std::uint64_t length) {
  return 4 + length + (key.size() + 8) / 2;
}

}  // namespace penstock
