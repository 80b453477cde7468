#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include <formats/extent.hpp>
#include <formats/index/index.hpp>
#include <formats/index/state.hpp>
#include <formats/io/hash.hpp>
#include <formats/mosaic.hpp>
#include <penstock/error.hpp>

namespace penstock {

using namespace index_layout;

namespace {

constexpr std::uint64_t kHashMultiplier = 0x9E3779B97F4A7C15;  // odd, so that its powers are never 0

}  // namespace

std::uint64_t key_hash_power(std::uint64_t samples) {
  std::uint64_t power = 1, square = kHashMultiplier;
  for (; samples != 0; samples >>= 1, square *= square) {
    if ((samples & 1) != 0) power *= square;
  }
  return power;
}

void IndexBuilder::State::put(std::uint32_t field, Entry entry, std::uint64_t length,
                              std::optional<std::uint32_t> crc) {
  BuiltColumn& column = columns.at(field);
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

// Consecutive runs of unwritten values usually share a pattern, which is stored once.
std::uint64_t IndexBuilder::State::keep_pattern(std::span<const std::byte> pattern) {
  const std::span<const std::byte> kept =
      std::span<const std::byte>(inline_bytes).subspan(pattern_offset, pattern_length);
  if (!std::ranges::equal(kept, pattern)) {
    pattern_offset = keep(pattern);
    pattern_length = pattern.size();
  }
  return pattern_offset;
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

void IndexBuilder::set_file_size(std::uint32_t file, std::uint64_t size) {
  state_->files.at(file).size = size;
}

std::uint32_t IndexBuilder::field(const FieldSchema& schema) {
  const auto [known, added] =
      state_->column_named.try_emplace(schema.name, static_cast<std::uint32_t>(state_->columns.size()));
  if (added) state_->columns.push_back({.schema = schema, .entries = {}, .headers = {}, .range_sums = {}});
  return known->second;
}

std::uint32_t IndexBuilder::add_block(const Block& block) {
  if (block.mosaic) {
    const std::vector<std::byte> bytes = to_bytes(*block.mosaic);
    state_->blocks.push_back({.offset = state_->keep(bytes),
                              .length = bytes.size(),
                              .decoded_length = block.decoded_length,
                              .file = kMosaic,
                              .pipeline = 0});
    return static_cast<std::uint32_t>(state_->blocks.size() - 1);
  }
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

void IndexBuilder::State::put_behind(BuiltHeaders& column, std::span<const std::byte> bytes) const {
  if (column.ends.size() >= samples()) throw Error::invalid_argument("a header is set twice, or before any sample");
  if (bytes.empty()) return;
  column.ends.resize(samples() - 1, column.bytes.size());
  column.bytes.insert(column.bytes.end(), bytes.begin(), bytes.end());
  column.ends.push_back(column.bytes.size());
}

void IndexBuilder::set_header(std::uint32_t field, std::span<const std::byte> header) {
  state_->put_behind(state_->columns.at(field).headers, header);
}

void IndexBuilder::set_range_sums(std::uint32_t field, std::span<const std::uint32_t> sums) {
  state_->put_behind(state_->columns.at(field).range_sums, std::as_bytes(sums));
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

namespace {

void reorder(BuiltHeaders& column, std::span<const std::uint64_t> order) {
  if (column.bytes.empty()) return;
  column.ends.resize(order.size(), column.bytes.size());
  BuiltHeaders made;
  for (const std::uint64_t from : order) {
    const auto begin = static_cast<std::ptrdiff_t>(from == 0 ? 0 : column.ends[from - 1]);
    const auto end = static_cast<std::ptrdiff_t>(column.ends[from]);
    made.bytes.insert(made.bytes.end(), column.bytes.begin() + begin, column.bytes.begin() + end);
    made.ends.push_back(made.bytes.size());
  }
  column = std::move(made);
}

}  // namespace

// Sample i becomes the former sample order[i]. Columns are reordered one at a time, to keep the second copy in memory
// small.
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
  for (BuiltColumn& column : columns) {
    column.entries.resize(order.size(), Entry{});
    std::vector<Entry> entries;
    entries.reserve(order.size());
    for (const std::uint64_t from : order) entries.push_back(column.entries[from]);
    column.entries = std::move(entries);
    penstock::reorder(column.headers, order);
    penstock::reorder(column.range_sums, order);
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
            [](const BuiltColumn& a, const BuiltColumn& b) { return a.schema.name < b.schema.name; });
  for (std::uint32_t i = 0; i < state.columns.size(); ++i) state.column_named[state.columns[i].schema.name] = i;
}

// Every field has an entry for every sample. Without this limit, a few thousand samples with different fields would
// need an index of gigabytes.
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
