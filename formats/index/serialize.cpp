#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <formats/index/index.hpp>
#include <formats/index/state.hpp>
#include <formats/io/crc32c.hpp>

namespace penstock {

using namespace index_layout;

namespace {

template <typename T>
void append(std::vector<std::byte>& out, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  out.insert(out.end(), bytes, bytes + sizeof(T));
}

void append(std::vector<std::byte>& out, std::string_view text) {
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  out.insert(out.end(), bytes, bytes + text.size());
}

// Writes the sections one after the other, and frees each after copying it. Therefore the index is never in memory
// twice.
class Writer {
 public:
  Writer(std::uint32_t sections, std::size_t about) : table_(sections) {
    out_.reserve(about + 4096);
    out_.resize(sizeof(Header) + table_.size() * sizeof(SectionEntry));
  }

  void begin(SectionId id) {
    out_.resize((out_.size() + 7) / 8 * 8);
    table_[static_cast<std::size_t>(id)] = {static_cast<std::uint32_t>(id), 0, out_.size(), 0};
    current_ = &table_[static_cast<std::size_t>(id)];
  }

  template <typename Container>
  void add(SectionId id, Container&& values) {
    begin(id);
    add(std::forward<Container>(values));
  }

  template <typename Container>
  void add(Container&& values) {
    const auto bytes = std::as_bytes(std::span(values));
    out_.insert(out_.end(), bytes.begin(), bytes.end());
    current_->length += bytes.size();
    std::remove_cvref_t<Container>().swap(values);
  }

  std::vector<std::byte> finish(Header header) {
    header.total_length = out_.size();
    const std::size_t table = table_.size() * sizeof(SectionEntry);
    header.body_crc = crc32c(std::span(out_).subspan(sizeof(Header) + table));
    std::memcpy(out_.data() + sizeof(Header), table_.data(), table);
    std::memcpy(out_.data(), &header, sizeof(Header));
    header.header_crc = crc32c(std::span(out_).subspan(sizeof(Header), table),
                               crc32c(std::span(out_).first(offsetof(Header, header_crc))));
    std::memcpy(out_.data(), &header, sizeof(Header));
    return std::move(out_);
  }

 private:
  std::vector<std::byte> out_;
  std::vector<SectionEntry> table_;
  SectionEntry* current_ = nullptr;
};

}  // namespace

// Returns the size that serialize() will write, without the fields and the padding between sections.
std::uint64_t IndexBuilder::State::stored_bytes() const {
  std::uint64_t total = key_offsets.size() * 8 + key_bytes.size() + pieces.size() * sizeof(PieceRecord) +
                        inline_bytes.size() + blocks.size() * sizeof(BlockRecord) + pipelines.size() * 4 +
                        filters.size() * sizeof(FilterRecord) + files.size() * sizeof(FileRecord) + file_paths.size() +
                        attributes.size();
  for (const BuiltColumn& column : columns) {
    total += samples() * sizeof(Entry) + column.schema.name.size() + column.schema.codec.size() + 256;
    for (const BuiltHeaders* part : {&column.headers, &column.range_sums})
      if (!part->bytes.empty()) total += (samples() + 1) * 8 + part->bytes.size();
  }
  return total;
}

std::vector<std::byte> IndexBuilder::State::field_section() const {
  std::vector<std::byte> out;
  std::uint32_t header_columns = 0;
  for (const BuiltColumn& column : columns) {
    const FieldSchema& schema = column.schema;
    const std::size_t length = sizeof(FieldRecord) + schema.shape.size() * 8 + schema.name.size() + schema.codec.size();
    const std::size_t padded = (length + 7) / 8 * 8;
    append(out, FieldRecord{.record_length = static_cast<std::uint32_t>(padded),
                            .name_length = static_cast<std::uint32_t>(schema.name.size()),
                            .codec_length = static_cast<std::uint32_t>(schema.codec.size()),
                            .rank = static_cast<std::uint32_t>(schema.shape.size()),
                            .header_column = column.headers.bytes.empty() ? kNoHeaders : header_columns++,
                            .dtype = static_cast<std::uint8_t>(schema.dtype),
                            .fixed = schema.fixed,
                            .complete = column.present == samples(),
                            .ranged = !column.range_sums.bytes.empty()});
    for (const std::int64_t extent : schema.shape) append(out, extent);
    append(out, std::string_view(schema.name));
    append(out, std::string_view(schema.codec));
    out.resize(out.size() + padded - length);
  }
  return out;
}

std::uint32_t IndexBuilder::State::version() const {
  for (const BuiltColumn& column : columns)
    if (!column.range_sums.bytes.empty()) return kVersion;
  return kFirstVersion;
}

std::vector<std::byte> IndexBuilder::State::serialize() {
  const Header header{.magic = kMagic,
                      .version = version(),
                      .section_count = sections_of(version()),
                      .total_length = 0,
                      .samples = samples(),
                      .key_hash = key_hash,
                      .field_count = static_cast<std::uint32_t>(columns.size()),
                      .file_count = static_cast<std::uint32_t>(files.size()),
                      .block_count = static_cast<std::uint32_t>(blocks.size()),
                      .flags = sorted ? kKeysSorted : 0,
                      .body_crc = 0,
                      .header_crc = 0};
  const std::uint64_t sample_count = samples();
  files.push_back({.path_offset = file_paths.size(), .size = 0, .stamp = 0});

  Writer writer(header.section_count, stored_bytes());
  const auto add_columns = [&](SectionId offsets, SectionId bytes, BuiltHeaders BuiltColumn::*part) {
    writer.begin(offsets);
    std::uint64_t base = 0;
    for (BuiltColumn& column : columns) {
      BuiltHeaders& built = column.*part;
      if (built.bytes.empty()) continue;
      built.ends.resize(sample_count, built.bytes.size());
      for (std::uint64_t& end : built.ends) end += base;
      writer.add(std::vector<std::uint64_t>{base});
      writer.add(built.ends);
      base += built.bytes.size();
    }
    writer.begin(bytes);
    for (BuiltColumn& column : columns) writer.add((column.*part).bytes);
  };
  writer.add(SectionId::fields, field_section());
  writer.add(SectionId::key_offsets, key_offsets);
  writer.add(SectionId::key_bytes, key_bytes);
  writer.begin(SectionId::entries);
  for (BuiltColumn& column : columns) {
    column.entries.resize(sample_count, Entry{});
    writer.add(column.entries);
  }
  writer.add(SectionId::pieces, pieces);
  writer.add(SectionId::inline_bytes, inline_bytes);
  writer.add(SectionId::blocks, blocks);
  writer.add(SectionId::pipelines, pipelines);
  writer.add(SectionId::filters, filters);
  writer.add(SectionId::files, files);
  writer.add(SectionId::file_paths, file_paths);
  add_columns(SectionId::header_offsets, SectionId::header_bytes, &BuiltColumn::headers);
  writer.add(SectionId::attributes, attributes);
  if (header.version != kFirstVersion)
    add_columns(SectionId::range_offsets, SectionId::range_sums, &BuiltColumn::range_sums);
  return writer.finish(header);
}

}  // namespace penstock
