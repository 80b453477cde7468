#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <formats/encodings.hpp>
#include <formats/extent.hpp>
#include <formats/index/index.hpp>
#include <formats/index/inline_piece.hpp>
#include <formats/io/crc32c.hpp>
#include <formats/packed/sample_order.hpp>
#include <formats/plain_integer.hpp>
#include <formats/streams/buffered_file.hpp>
#include <formats/tfrecord/frames.hpp>
#include <formats/tfrecord/writer.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

constexpr std::string_view kKeyFeature = "__key__";
// Tags of length-delimited fields: number << 3 | 2.
constexpr char kFirst = 0x0A, kSecond = 0x12, kInt64List = 0x1A;

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes += static_cast<char>(value);
}

std::string number(std::uint64_t value, int bytes) {
  std::string text;
  for (; bytes > 0; --bytes, value >>= 8) text += static_cast<char>(value & 0xFF);
  return text;
}

// Returns the head of a field with `length` more bytes.
std::string field_head(char tag, std::uint64_t length) {
  return tag + varint(length);
}

/// An entry of the map of features: `head`, then `value`.
struct Entry {
  std::string head;
  std::span<const std::byte> value = {};
  std::uint64_t size() const { return head.size() + value.size(); }
};

Entry entry_of(std::string_view name, char list_tag, const std::string& list_head, std::span<const std::byte> value) {
  const std::uint64_t list = list_head.size() + value.size();
  const std::string feature_head = field_head(list_tag, list) + list_head;
  const std::uint64_t feature = feature_head.size() + value.size();
  const std::string body =
      field_head(kFirst, name.size()) + std::string(name) + field_head(kSecond, feature) + feature_head;
  return {.head = field_head(kFirst, body.size() + value.size()) + body, .value = value};
}

Entry bytes_entry(std::string_view name, std::span<const std::byte> value) {
  return entry_of(name, kFirst, field_head(kFirst, value.size()), value);
}

Entry int_entry(std::string_view name, std::int64_t value) {
  const std::string digits = varint(static_cast<std::uint64_t>(value));
  return entry_of(name, kInt64List, field_head(kFirst, digits.size()) + digits, {});
}

class TfrecordWriter final : public ShardWriter {
 public:
  TfrecordWriter(const std::filesystem::path& path, const ShardOptions& options)
      : options_(options), order_(options_.fields), file_(path, options.object) {
    for (const FieldSchema& schema : options_.fields) {
      if (schema.name.empty() || schema.name == kKeyFeature) {
        throw Error::unsupported("a TFRecord cannot hold a field of this name",
                                 {.shard = path.filename().string(), .field = schema.name});
      }
      builder_.field(schema);
    }
  }

  void add(std::string_view key, std::span<const FieldValue> fields) override {
    const ErrorContext sample{.shard = file_.path().filename().string(), .key = std::string(key)};
    const std::span<const FieldValue> values = order_.sorted(fields, sample);
    entries_.assign(1, bytes_entry(kKeyFeature, std::as_bytes(std::span(key))));
    for (const FieldValue& value : values) entries_.push_back(entry_for(value));
    const std::uint64_t begin = write_record();
    builder_.add_sample(key);
    place(values, begin);
  }

  std::uint64_t bytes() const override { return file_.position(); }

  Index finish() override {
    file_.finish();
    builder_.add_file({.path = file_.path().filename().string(), .size = file_.position(), .stamp = file_.stamp()});
    return std::move(builder_).finish();
  }

  const ObjectStream* object() const override { return file_.object(); }

 private:
  std::optional<std::int64_t> int_of(const FieldValue& value) const {
    return codec_traits(options_.fields[value.field].codec).label ? plain_integer(value.bytes) : std::nullopt;
  }

  Entry entry_for(const FieldValue& value) const {
    const std::string& name = options_.fields[value.field].name;
    const auto number = int_of(value);
    return number ? int_entry(name, *number) : bytes_entry(name, value.bytes);
  }

  /// Returns the offset of the first entry.
  std::uint64_t write_record() {
    std::uint64_t features = 0;
    for (const Entry& entry : entries_) features += entry.size();
    const std::string head = field_head(kFirst, features);
    const std::string length = number(head.size() + features, 8);
    file_.append(length);
    file_.append(number(masked_crc32c(crc32c(std::as_bytes(std::span(length)))), 4));
    std::uint32_t crc = 0;
    const auto append = [&](std::span<const std::byte> bytes) {
      crc = crc32c(bytes, crc);
      file_.append(bytes);
    };
    append(std::as_bytes(std::span(head)));
    const std::uint64_t begin = file_.position();
    for (const Entry& entry : entries_) {
      append(std::as_bytes(std::span(entry.head)));
      append(entry.value);
    }
    file_.append(number(masked_crc32c(crc), 4));
    return begin;
  }

  void place(std::span<const FieldValue> values, std::uint64_t begin) {
    std::uint64_t at = begin + entries_[0].size();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const FieldValue& value = values[i];
      const Entry& entry = entries_[i + 1];
      if (int_of(value)) {  // the file has it as a varint, so the text is stored in the index
        const Piece piece = inline_piece(value.bytes);
        builder_.set(value.field, std::span(&piece, 1), value.crc32c);
      } else {
        const Extent extent{.file = 0, .offset = at + entry.head.size(), .length = value.bytes.size()};
        builder_.set(value.field, extent, value.crc32c);
      }
      if (!value.header.empty()) builder_.set_header(value.field, value.header);
      if (!value.range_sums.empty()) builder_.set_range_sums(value.field, value.range_sums);
      at += entry.size();
    }
  }

  ShardOptions options_;
  SampleOrder order_;
  BufferedFile file_;
  IndexBuilder builder_;
  std::vector<Entry> entries_;  // of the current sample
};

}  // namespace

std::unique_ptr<ShardWriter> write_tfrecord(const std::filesystem::path& path, const ShardOptions& options) {
  return std::make_unique<TfrecordWriter>(path, options);
}

std::uint64_t tfrecord_room(std::string_view key, std::string_view field, std::uint64_t length) {
  constexpr std::uint64_t kTags = 16;
  return kTags + field.size() + length + (key.size() + kTags + kTfrecordHeader + kTfrecordTrailer) / 2;
}

}  // namespace penstock
