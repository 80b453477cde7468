#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include <penstock/formats/crc32c.hpp>
#include <penstock/formats/error.hpp>
#include <penstock/formats/hash.hpp>
#include <penstock/formats/index.hpp>
#include <penstock/formats/index_layout.hpp>

namespace penstock {

using namespace index_layout;

namespace {

constexpr std::uint64_t kHashMultiplier = 0x9E3779B97F4A7C15;  // odd, so that its powers never vanish

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

struct HeaderColumn {
  std::vector<std::uint64_t> ends;  // one per sample that has been reached; sample i's bytes end there
  std::vector<std::byte> bytes;
};

struct Column {
  FieldSchema schema;
  std::vector<Entry> entries;  // may end before the current sample: the rest is absent
  std::uint64_t present = 0;
  HeaderColumn headers;
};

}  // namespace

std::uint64_t key_hash_power(std::uint64_t samples) {
  std::uint64_t power = 1, square = kHashMultiplier;
  for (; samples != 0; samples >>= 1, square *= square) {
    if ((samples & 1) != 0) power *= square;
  }
  return power;
}

struct IndexBuilder::State {
  std::vector<std::uint64_t> key_offsets{0};
  std::string key_bytes;
  bool sorted = true;
  std::uint64_t key_hash = 0;
  std::vector<Column> columns;
  std::unordered_map<std::string, std::uint32_t> column_named;
  std::vector<PieceRecord> pieces;
  std::vector<std::byte> inline_bytes;
  std::uint64_t pattern_offset = 0, pattern_length = 0;  // of the fill value kept last
  std::uint64_t values = 0, filled = 0;                  // set, and with those in between that are absent
  std::vector<BlockRecord> blocks;
  std::map<std::vector<std::pair<std::uint16_t, std::uint32_t>>, std::uint32_t> pipeline_of;
  std::vector<std::uint32_t> pipelines{0};
  std::vector<FilterRecord> filters;
  std::vector<FileRecord> files;
  std::string file_paths;
  std::string attributes;

  std::uint64_t samples() const { return key_offsets.size() - 1; }

  std::string_view last_key() const {
    return samples() == 0 ? std::string_view() : std::string_view(key_bytes).substr(key_offsets[samples() - 1]);
  }

  std::uint64_t keep(std::span<const std::byte> bytes) {
    const std::uint64_t offset = inline_bytes.size();
    inline_bytes.insert(inline_bytes.end(), bytes.begin(), bytes.end());
    return offset;
  }

  void put(std::uint32_t field, Entry entry, std::uint64_t length, std::optional<std::uint32_t> crc);
  PieceRecord record(const Piece& piece);
  std::uint64_t keep_pattern(std::span<const std::byte> pattern);
  std::string_view key(std::uint64_t sample) const {
    return std::string_view(key_bytes).substr(key_offsets[sample], key_offsets[sample + 1] - key_offsets[sample]);
  }

  void add_key(std::string_view key);
  void reorder(std::span<const std::uint64_t> order);
  std::uint64_t stored_bytes() const;
  void refuse_sparse(std::uint64_t wanted) const;
  std::vector<std::byte> field_section() const;
  std::vector<std::byte> serialize();
};

void IndexBuilder::State::put(std::uint32_t field, Entry entry, std::uint64_t length,
                              std::optional<std::uint32_t> crc) {
  Column& column = columns.at(field);
  const auto context = [&] { return ErrorContext{.key = std::string(last_key()), .field = column.schema.name}; };
  if (samples() == 0) throw Error::invalid_argument("a field is set before the first sample", context());
  if (column.entries.size() == samples()) throw Error::corrupt("the sample has this field twice", context());
  if (length > kLongestField) throw Error::unsupported("a field of 1 TiB or more", context());
  ++values;
  filled += samples() - column.entries.size();
  refuse_sparse(filled);
  column.entries.resize(samples() - 1, Entry{});
  entry.length_low = static_cast<std::uint32_t>(length);
  entry.length_high = static_cast<std::uint8_t>(length >> 32);
  entry.flags = crc ? kHasCrc : std::uint8_t{0};
  entry.crc32c = crc.value_or(0);
  column.entries.push_back(entry);
  ++column.present;
}

PieceRecord IndexBuilder::State::record(const Piece& piece) {
  PieceRecord record{.offset = piece.offset,
                     .length = piece.length,
                     .inline_offset = 0,
                     .inline_length = static_cast<std::uint32_t>(piece.inline_bytes.size()),
                     .number = piece.block,
                     .kind = static_cast<std::uint32_t>(piece.kind),
                     .reserved = 0};
  if (piece.kind == Piece::Kind::extent) {
    record.offset = piece.extent.offset;
    record.number = piece.extent.file;
  }
  if (piece.kind == Piece::Kind::fill) {
    record.inline_offset = keep_pattern(piece.inline_bytes);
  } else if (!piece.inline_bytes.empty()) {
    record.inline_offset = keep(piece.inline_bytes);
  }
  return record;
}

// Runs of unwritten values have one pattern in common: it is kept once.
std::uint64_t IndexBuilder::State::keep_pattern(std::span<const std::byte> pattern) {
  const std::span<const std::byte> kept =
      std::span<const std::byte>(inline_bytes).subspan(pattern_offset, pattern_length);
  if (!std::ranges::equal(kept, pattern)) {
    pattern_offset = keep(pattern);
    pattern_length = pattern.size();
  }
  return pattern_offset;
}

// What serialize() will write, but for the fields and the padding between sections.
std::uint64_t IndexBuilder::State::stored_bytes() const {
  std::uint64_t total = key_offsets.size() * 8 + key_bytes.size() + pieces.size() * sizeof(PieceRecord) +
                        inline_bytes.size() + blocks.size() * sizeof(BlockRecord) + pipelines.size() * 4 +
                        filters.size() * sizeof(FilterRecord) + files.size() * sizeof(FileRecord) + file_paths.size() +
                        attributes.size();
  for (const Column& column : columns) {
    total += samples() * sizeof(Entry) + column.schema.name.size() + column.schema.codec.size() + 256;
    if (!column.headers.bytes.empty()) total += (samples() + 1) * 8 + column.headers.bytes.size();
  }
  return total;
}

std::vector<std::byte> IndexBuilder::State::field_section() const {
  std::vector<std::byte> out;
  std::uint32_t header_columns = 0;
  for (const Column& column : columns) {
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
                            .reserved = 0});
    for (const std::int64_t extent : schema.shape) append(out, extent);
    append(out, std::string_view(schema.name));
    append(out, std::string_view(schema.codec));
    out.resize(out.size() + padded - length);
  }
  return out;
}

namespace {

// Lays the sections one behind the other, each freed once it is copied: the index never lies in memory twice.
class Writer {
 public:
  explicit Writer(std::size_t about) {
    out_.reserve(about + 4096);
    out_.resize(sizeof(Header) + kSectionCount * sizeof(SectionEntry));
  }

  void begin(SectionId id) {
    out_.resize((out_.size() + 7) / 8 * 8);
    table_[static_cast<std::size_t>(id)] = {static_cast<std::uint32_t>(id), 0, out_.size(), 0};
    current_ = &table_[static_cast<std::size_t>(id)];
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
    const std::size_t body = sizeof(Header) + kSectionCount * sizeof(SectionEntry);
    header.body_crc = crc32c(std::span(out_).subspan(body));
    std::memcpy(out_.data() + sizeof(Header), table_, sizeof(table_));
    std::memcpy(out_.data(), &header, sizeof(Header));
    header.header_crc = crc32c(std::span(out_).subspan(sizeof(Header), sizeof(table_)),
                               crc32c(std::span(out_).first(offsetof(Header, header_crc))));
    std::memcpy(out_.data(), &header, sizeof(Header));
    return std::move(out_);
  }

 private:
  std::vector<std::byte> out_;
  SectionEntry table_[kSectionCount]{};
  SectionEntry* current_ = nullptr;
};

}  // namespace

std::vector<std::byte> IndexBuilder::State::serialize() {
  const Header header{.magic = kMagic,
                      .version = kVersion,
                      .section_count = kSectionCount,
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

  Writer writer(stored_bytes());
  writer.begin(SectionId::fields);
  writer.add(field_section());
  writer.begin(SectionId::key_offsets);
  writer.add(key_offsets);
  writer.begin(SectionId::key_bytes);
  writer.add(key_bytes);
  writer.begin(SectionId::entries);
  for (Column& column : columns) {
    column.entries.resize(sample_count, Entry{});
    writer.add(column.entries);
  }
  writer.begin(SectionId::pieces);
  writer.add(pieces);
  writer.begin(SectionId::inline_bytes);
  writer.add(inline_bytes);
  writer.begin(SectionId::blocks);
  writer.add(blocks);
  writer.begin(SectionId::pipelines);
  writer.add(pipelines);
  writer.begin(SectionId::filters);
  writer.add(filters);
  writer.begin(SectionId::files);
  writer.add(files);
  writer.begin(SectionId::file_paths);
  writer.add(file_paths);
  writer.begin(SectionId::header_offsets);
  std::uint64_t base = 0;
  for (Column& column : columns) {
    if (column.headers.bytes.empty()) continue;
    std::vector<std::uint64_t>& ends = column.headers.ends;
    ends.resize(sample_count, column.headers.bytes.size());
    for (std::uint64_t& end : ends) end += base;
    writer.add(std::vector<std::uint64_t>{base});
    writer.add(ends);
    base += column.headers.bytes.size();
  }
  writer.begin(SectionId::header_bytes);
  for (Column& column : columns) writer.add(column.headers.bytes);
  writer.begin(SectionId::attributes);
  writer.add(attributes);
  return writer.finish(header);
}

IndexBuilder::IndexBuilder() : state_(std::make_unique<State>()) {}
IndexBuilder::~IndexBuilder() = default;
IndexBuilder::IndexBuilder(IndexBuilder&&) noexcept = default;
IndexBuilder& IndexBuilder::operator=(IndexBuilder&&) noexcept = default;

std::uint32_t IndexBuilder::add_file(IndexedFile file) {
  state_->files.push_back({.path_offset = state_->file_paths.size(), .size = file.size, .stamp = file.stamp});
  state_->file_paths += file.path;
  return static_cast<std::uint32_t>(state_->files.size() - 1);
}

std::uint32_t IndexBuilder::field(const FieldSchema& schema) {
  const auto [known, added] =
      state_->column_named.try_emplace(schema.name, static_cast<std::uint32_t>(state_->columns.size()));
  if (added) state_->columns.push_back({.schema = schema, .entries = {}, .headers = {}});
  return known->second;
}

std::uint32_t IndexBuilder::add_block(const Block& block) {
  std::vector<std::pair<std::uint16_t, std::uint32_t>> pipeline;
  for (const Filter& filter : block.filters) {
    pipeline.emplace_back(static_cast<std::uint16_t>(filter.id), filter.parameter);
  }
  const auto [known, added] =
      state_->pipeline_of.try_emplace(pipeline, static_cast<std::uint32_t>(state_->pipelines.size() - 1));
  if (added) {
    for (const auto& [id, parameter] : pipeline) {
      state_->filters.push_back({.id = id, .reserved = 0, .parameter = parameter});
    }
    state_->pipelines.push_back(static_cast<std::uint32_t>(state_->filters.size()));
  }
  state_->blocks.push_back({.offset = block.extent.offset,
                            .length = block.extent.length,
                            .decoded_length = block.decoded_length,
                            .file = block.extent.file,
                            .pipeline = known->second});
  return static_cast<std::uint32_t>(state_->blocks.size() - 1);
}

void IndexBuilder::State::add_key(std::string_view key) {
  if (samples() != 0 && key < last_key()) sorted = false;
  key_bytes += key;
  key_offsets.push_back(key_bytes.size());
  key_hash = key_hash * kHashMultiplier + hash64(key);
}

void IndexBuilder::add_sample(std::string_view key) {
  state_->add_key(key);
}

void IndexBuilder::set(std::uint32_t field, const Extent& extent, std::optional<std::uint32_t> crc32c) {
  Entry entry{};
  entry.kind = EntryKind::extent;
  entry.offset = extent.offset;
  entry.number = extent.file;
  state_->put(field, entry, extent.length, crc32c);
}

void IndexBuilder::set(std::uint32_t field, std::span<const Piece> pieces, std::optional<std::uint32_t> crc32c) {
  Entry entry{};
  if (pieces.size() == 1 && pieces[0].kind == Piece::Kind::extent) return set(field, pieces[0].extent, crc32c);
  if (pieces.empty()) {
    entry.kind = EntryKind::bytes;
    return state_->put(field, entry, 0, crc32c);
  }
  if (pieces.size() == 1 && pieces[0].kind == Piece::Kind::bytes) {
    entry.kind = EntryKind::bytes;
    entry.offset = state_->keep(pieces[0].inline_bytes);
    return state_->put(field, entry, pieces[0].inline_bytes.size(), crc32c);
  }
  if (pieces.size() == 1 && pieces[0].kind == Piece::Kind::block) {
    entry.kind = EntryKind::block;
    entry.offset = pieces[0].offset;
    entry.number = pieces[0].block;
    return state_->put(field, entry, pieces[0].length, crc32c);
  }
  entry.kind = EntryKind::pieces;
  entry.offset = state_->pieces.size();
  entry.number = static_cast<std::uint32_t>(pieces.size());
  std::uint64_t length = 0;
  for (const Piece& piece : pieces) {
    state_->pieces.push_back(state_->record(piece));
    length += piece.length;
  }
  state_->put(field, entry, length, crc32c);
}

void IndexBuilder::set_header(std::uint32_t field, std::span<const std::byte> header) {
  HeaderColumn& headers = state_->columns.at(field).headers;
  if (headers.ends.size() >= size()) throw Error::invalid_argument("a header is set twice, or before any sample");
  if (header.empty()) return;
  headers.ends.resize(size() - 1, headers.bytes.size());
  headers.bytes.insert(headers.bytes.end(), header.begin(), header.end());
  headers.ends.push_back(headers.bytes.size());
}

void IndexBuilder::set_attributes(std::string json) {
  state_->attributes = std::move(json);
}

bool IndexBuilder::has(std::uint32_t field) const {
  const State& state = *state_;
  return field < state.columns.size() && state.samples() != 0 && state.columns[field].entries.size() == state.samples();
}

std::uint64_t IndexBuilder::size() const {
  return state_->samples();
}

std::string_view IndexBuilder::key(std::uint64_t sample) const {
  return state_->key(sample);
}

// Sample i becomes the one that was order[i]. One column at a time, so that little lies in memory twice.
void IndexBuilder::State::reorder(std::span<const std::uint64_t> order) {
  const std::vector<std::uint64_t> offsets = std::exchange(key_offsets, {0});
  const std::string bytes = std::exchange(key_bytes, {});
  key_hash = 0;
  sorted = true;
  key_offsets.reserve(offsets.size());
  key_bytes.reserve(bytes.size());
  for (const std::uint64_t from : order) {
    add_key(std::string_view(bytes).substr(offsets[from], offsets[from + 1] - offsets[from]));
  }
  for (Column& column : columns) {
    column.entries.resize(order.size(), Entry{});
    std::vector<Entry> entries;
    entries.reserve(order.size());
    for (const std::uint64_t from : order) entries.push_back(column.entries[from]);
    column.entries = std::move(entries);
    if (column.headers.bytes.empty()) continue;
    column.headers.ends.resize(order.size(), column.headers.bytes.size());
    HeaderColumn headers;
    for (const std::uint64_t from : order) {
      const auto begin = static_cast<std::ptrdiff_t>(from == 0 ? 0 : column.headers.ends[from - 1]);
      const auto end = static_cast<std::ptrdiff_t>(column.headers.ends[from]);
      headers.bytes.insert(headers.bytes.end(), column.headers.bytes.begin() + begin,
                           column.headers.bytes.begin() + end);
      headers.ends.push_back(headers.bytes.size());
    }
    column.headers = std::move(headers);
  }
}

void IndexBuilder::sort() {
  State& state = *state_;
  if (!state.sorted) {
    std::vector<std::uint64_t> order(size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint64_t a, std::uint64_t b) { return state.key(a) < state.key(b); });
    state.reorder(order);
  }
  std::sort(state.columns.begin(), state.columns.end(),
            [](const Column& a, const Column& b) { return a.schema.name < b.schema.name; });
  for (std::uint32_t i = 0; i < state.columns.size(); ++i) state.column_named[state.columns[i].schema.name] = i;
}

// Every field has an entry for every sample, so a few thousand samples that share no field would make an index of
// gigabytes.
void IndexBuilder::State::refuse_sparse(std::uint64_t wanted) const {
  constexpr std::uint64_t kFree = std::uint64_t{1} << 22, kEntriesPerValue = 256;
  if (wanted <= std::max(kFree, values * kEntriesPerValue)) return;
  throw Error::unsupported(std::to_string(samples()) + " samples of " + std::to_string(columns.size()) +
                           " different fields have " + std::to_string(values) +
                           " values in all: are these names meant as fields?");
}

Index IndexBuilder::finish() && {
  state_->refuse_sparse(state_->columns.size() * state_->samples());
  return Index::from_bytes(state_->serialize());
}

}  // namespace penstock
