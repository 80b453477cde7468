#include <algorithm>
#include <type_traits>
#include <utility>

#include <formats/filters/filters.hpp>
#include <formats/index/index.hpp>
#include <formats/index/layout.hpp>
#include <formats/index/made_samples.hpp>
#include <formats/io/crc32c.hpp>
#include <formats/io/file_bytes.hpp>
#include <formats/io/path_inside.hpp>
#include <formats/mosaic.hpp>
#include <penstock/error.hpp>

namespace penstock {

using namespace index_layout;

namespace {

constexpr std::uint64_t kLongestFill = UINT32_MAX;  // the limit of HDF5 chunks, used if the shape sets no limit
constexpr std::uint64_t kSmallSlice = std::uint64_t{1} << 20;

[[noreturn]] void broken(const char* what) {
  throw Error::corrupt(std::string("broken index: ") + what);
}

void require(bool holds, const char* what) {
  if (!holds) broken(what);
}

// Returns [offset, offset + length) of `bytes`. Throws Error: corrupt, if that is outside.
std::span<const std::byte> slice(std::span<const std::byte> bytes, std::uint64_t offset, std::uint64_t length,
                                 const char* what) {
  require(offset <= bytes.size() && length <= bytes.size() - offset, what);
  return bytes.subspan(offset, length);
}

template <typename T>
T load(std::span<const std::byte> bytes, std::uint64_t offset, const char* what) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, slice(bytes, offset, sizeof(T), what).data(), sizeof(T));
  return value;
}

std::string_view text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Returns bytes [offsets[i], offsets[i + 1]) of `bytes`, where `offsets` is a section of u64.
std::span<const std::byte> between(std::span<const std::byte> offsets, std::uint64_t i,
                                   std::span<const std::byte> bytes, const char* what) {
  const auto first = load<std::uint64_t>(offsets, i * 8, what);
  const auto last = load<std::uint64_t>(offsets, i * 8 + 8, what);
  require(first <= last, what);
  return slice(bytes, first, last - first, what);
}

// Returns the bytes of a value of that shape, or kLongestFill if the shape does not fix the length.
std::uint64_t bytes_of_shape(const FieldSchema& schema) {
  std::uint64_t bytes = size_of(schema.dtype);
  for (const std::int64_t side : schema.shape) {
    require(side >= 0 || !schema.fixed, "shape of a field");
    if (side < 0) continue;
    require(side == 0 || bytes <= kLongestField / static_cast<std::uint64_t>(side), "shape of a field");
    bytes *= static_cast<std::uint64_t>(side);
  }
  return schema.fixed ? bytes : kLongestFill;
}

}  // namespace

struct Index::State {
  std::shared_ptr<const MadeSamples> made;  // instead of all bytes
  std::shared_ptr<const FileBytes> file = std::make_shared<const FileBytes>();
  bool from_disk = false;  // an index that this process built may name files anywhere
  std::vector<std::byte> owned;
  std::span<const std::byte> bytes;
  Header header{};
  std::span<const std::byte> sections[kSectionCount];
  std::vector<FieldSchema> fields;
  std::vector<FieldRecord> records;
  std::vector<std::uint32_t> range_columns;  // per field: its column of range_offsets, or kNoHeaders
  std::vector<std::uint64_t> longest_fill;   // per field: the most bytes of a value that fill patterns may produce

  void parse();
  void check_content() const;
  void parse_sections();
  void check_lengths() const;
  void parse_fields();

  // Returns the result of `read`. Throws if the file was truncated while mapped.
  template <typename Read>
  auto whole(const Read& read) const {
    try {
      auto value = read();
      file->require_whole();
      return value;
    } catch (const Error&) {  // the error may come from the zeros after the new end of the file
      file->require_whole();
      throw;
    }
  }

  std::span<const std::byte> section(SectionId id) const { return sections[static_cast<std::size_t>(id)]; }

  bool locate(std::uint64_t sample, std::uint32_t field, std::vector<Piece>& pieces) const;

  void require_inside(std::uint64_t sample, std::uint32_t field) const {
    if (sample >= header.samples || field >= fields.size()) {
      throw Error::invalid_argument("sample " + std::to_string(sample) + ", field " + std::to_string(field) +
                                    " is outside the index");
    }
  }

  Entry entry(std::uint64_t sample, std::uint32_t field) const {
    require_inside(sample, field);
    return load<Entry>(section(SectionId::entries), (field * header.samples + sample) * sizeof(Entry), "entries");
  }

  // Checks that an extent is inside its file, with the file's size when indexed. Dataset compares long extents with the
  // actual file.
  void check(const Extent& extent) const {
    require(extent.file < header.file_count, "file number");
    const auto [path, size, stamp] =
        load<FileRecord>(section(SectionId::files), std::uint64_t{extent.file} * sizeof(FileRecord), "files");
    require(extent.offset <= size && extent.length <= size - extent.offset, "a value ends outside its file");
  }

  // Checks that a slice is inside the block's decoded bytes. For long slices, also checks that the block's stored bytes
  // can decode to its declared length.
  void check_slice(std::uint32_t number, std::uint64_t offset, std::uint64_t length) const {
    require(number < header.block_count, "block number");
    const std::uint64_t holds =
        load<BlockRecord>(section(SectionId::blocks), std::uint64_t{number} * sizeof(BlockRecord), "blocks")
            .decoded_length;
    require(offset <= holds && length <= holds - offset, "a value ends outside its block");
    if (length > kSmallSlice) block(number);
  }

  Block block(std::uint32_t number) const;
  IndexedFile indexed_file(std::uint32_t number) const;

  Piece piece(std::uint64_t number) const {
    const auto pieces = section(SectionId::pieces);
    require(number < pieces.size() / sizeof(PieceRecord), "piece number");
    const auto record = load<PieceRecord>(pieces, number * sizeof(PieceRecord), "pieces");
    require(record.kind <= static_cast<std::uint32_t>(Piece::Kind::fill), "kind of piece");
    require(record.length <= kLongestField, "length of piece");
    Piece piece{.kind = static_cast<Piece::Kind>(record.kind), .length = record.length, .inline_bytes = {}};
    switch (piece.kind) {
      case Piece::Kind::extent:
        piece.extent = {record.number, record.offset, record.length};
        check(piece.extent);
        break;
      case Piece::Kind::block:
        piece.block = record.number;
        piece.offset = record.offset;
        check_slice(record.number, record.offset, record.length);
        break;
      case Piece::Kind::bytes:
      case Piece::Kind::fill:
        piece.inline_bytes =
            slice(section(SectionId::inline_bytes), record.inline_offset, record.inline_length, "inline bytes");
        if (piece.kind == Piece::Kind::bytes) require(record.inline_length == record.length, "inline bytes");
        if (piece.kind == Piece::Kind::fill) require(record.inline_length != 0, "fill value");
        break;
    }
    return piece;
  }
};

IndexedFile Index::State::indexed_file(std::uint32_t number) const {
  const auto files = section(SectionId::files);
  const auto record = load<FileRecord>(files, std::uint64_t{number} * sizeof(FileRecord), "files");
  const auto next = load<FileRecord>(files, std::uint64_t{number} * sizeof(FileRecord) + sizeof(FileRecord), "files");
  require(record.path_offset <= next.path_offset, "file paths");
  const auto path =
      slice(section(SectionId::file_paths), record.path_offset, next.path_offset - record.path_offset, "file paths");
  require(!from_disk || is_inside(text(path)), "it names a file outside the dataset");
  return {.path = std::string(text(path)), .size = record.size, .stamp = record.stamp};
}

Block Index::State::block(std::uint32_t number) const {
  const auto record =
      load<BlockRecord>(section(SectionId::blocks), std::uint64_t{number} * sizeof(BlockRecord), "blocks");
  if (record.file == kMosaic) {
    const auto told =
        slice(section(SectionId::inline_bytes), record.offset, record.length, "a block of several chunks");
    return {.extent = {},
            .filters = {},
            .decoded_length = record.decoded_length,
            .mosaic = mosaic_of(told, record.decoded_length, header.block_count)};
  }
  Block block{
      .extent = {record.file, record.offset, record.length}, .filters = {}, .decoded_length = record.decoded_length};
  check(block.extent);
  const auto pipelines = section(SectionId::pipelines);
  const auto filters = section(SectionId::filters);
  const auto first = load<std::uint32_t>(pipelines, std::uint64_t{record.pipeline} * 4, "pipelines");
  const auto last = load<std::uint32_t>(pipelines, std::uint64_t{record.pipeline} * 4 + 4, "pipelines");
  require(first <= last && last <= filters.size() / sizeof(FilterRecord), "pipelines");
  for (std::uint64_t i = first; i < last; ++i) {
    const auto filter = load<FilterRecord>(filters, i * sizeof(FilterRecord), "filters");
    block.filters.push_back({static_cast<Filter::Id>(filter.id), filter.parameter});
  }
  require(block.decoded_length <= longest_decoded(record.length, block.filters), "decoded length of a block");
  return block;
}

void Index::State::parse() {
  require(bytes.size() >= sizeof(Header), "shorter than its header");
  header = load<Header>(bytes, 0, "header");
  require(header.magic == kMagic, "not an index (wrong magic)");
  if (header.version < kFirstVersion || header.version > kVersion) {
    throw Error::unsupported("index of version " + std::to_string(header.version) + "; this build reads versions " +
                             std::to_string(kFirstVersion) + " to " + std::to_string(kVersion));
  }
  require(header.section_count == sections_of(header.version), "section count");
  require(header.total_length == bytes.size(), "its length has changed since it was written");
  parse_sections();
  check_lengths();
  parse_fields();
}

void Index::State::check_content() const {
  const std::size_t body = sizeof(Header) + header.section_count * sizeof(SectionEntry);
  require(penstock::crc32c(bytes.subspan(body)) == header.body_crc, "checksum of the content");
}

void Index::State::parse_sections() {
  const auto table = slice(bytes, sizeof(Header), header.section_count * sizeof(SectionEntry), "section table");
  const std::uint32_t crc = penstock::crc32c(table, penstock::crc32c(bytes.first(offsetof(Header, header_crc))));
  require(crc == header.header_crc, "checksum of the header");
  for (std::uint32_t i = 0; i < header.section_count; ++i) {
    const auto entry = load<SectionEntry>(table, i * sizeof(SectionEntry), "section table");
    require(entry.id == i, "section order");
    sections[i] = slice(bytes, entry.offset, entry.length, "section outside the file");
  }
}

void Index::State::check_lengths() const {
  const auto counted = [this](SectionId id, std::uint64_t count, std::uint64_t each, const char* what) {
    const std::uint64_t length = section(id).size();
    require(length % each == 0 && length / each == count, what);
  };
  // Each key has an offset, so this keeps the products below in range.
  require(header.samples < bytes.size(), "number of samples");
  counted(SectionId::key_offsets, header.samples + 1, 8, "length of key_offsets");
  const std::uint64_t entries = section(SectionId::entries).size() / sizeof(Entry);
  require(header.samples == 0 ? entries == 0
                              : entries % header.samples == 0 && entries / header.samples == header.field_count,
          "length of entries");
  counted(SectionId::blocks, header.block_count, sizeof(BlockRecord), "length of blocks");
  counted(SectionId::files, std::uint64_t{header.file_count} + 1, sizeof(FileRecord), "length of files");
}

void Index::State::parse_fields() {
  auto rest = section(SectionId::fields);
  const std::uint64_t columns = section(SectionId::header_offsets).size() / 8 / (header.samples + 1);
  const std::uint64_t range_offsets = section(SectionId::range_offsets).size() / 8 / (header.samples + 1);
  std::uint32_t ranged_fields = 0;
  for (std::uint32_t i = 0; i < header.field_count; ++i) {
    const auto record = load<FieldRecord>(rest, 0, "fields");
    const auto whole = slice(rest, 0, record.record_length, "fields");
    require(record.header_column == kNoHeaders || record.header_column < columns, "header column");
    const bool ranged = header.version != kFirstVersion && record.ranged != 0;
    range_columns.push_back(ranged ? ranged_fields++ : kNoHeaders);
    require(ranged_fields <= range_offsets, "range column");
    require(record.dtype <= static_cast<std::uint8_t>(DType::boolean), "dtype of a field");
    FieldSchema schema;
    schema.dtype = static_cast<DType>(record.dtype);
    schema.fixed = record.fixed != 0;
    std::uint64_t at = sizeof(FieldRecord);
    require(record.rank <= whole.size() / 8, "rank of a field");
    for (std::uint32_t d = 0; d < record.rank; ++d, at += 8) {
      schema.shape.push_back(load<std::int64_t>(whole, at, "shape of a field"));
    }
    longest_fill.push_back(bytes_of_shape(schema));
    schema.name = text(slice(whole, at, record.name_length, "name of a field"));
    schema.codec = text(slice(whole, at + record.name_length, record.codec_length, "codec of a field"));
    fields.push_back(std::move(schema));
    records.push_back(record);
    rest = rest.subspan(record.record_length);
  }
}

Index::Index(std::unique_ptr<State> state) : state_(std::move(state)) {}
Index::Index(const Index&) = default;
Index& Index::operator=(const Index&) = default;
Index::Index(Index&&) noexcept = default;
Index& Index::operator=(Index&&) noexcept = default;
Index::~Index() = default;

Index Index::open(const std::filesystem::path& path) {
  return open(FileBytes(path), path);
}

Index Index::open(FileBytes file, const std::filesystem::path& path, std::size_t skip) {
  return open(std::make_shared<const FileBytes>(std::move(file)), path, skip, SIZE_MAX);
}

Index Index::open(std::shared_ptr<const FileBytes> file, const std::filesystem::path& path, std::size_t skip,
                  std::size_t length) {
  auto state = std::make_unique<State>();
  state->file = std::move(file);
  state->from_disk = true;
  const std::span<const std::byte> all = state->file->bytes();
  state->bytes = all.subspan(std::min(skip, all.size()));
  state->bytes = state->bytes.first(std::min(length, state->bytes.size()));
  try {
    state->parse();
    state->check_content();
    state->file->require_whole();
  } catch (const Error& error) {
    throw error.in({.shard = path.string()});
  }
  return Index(std::move(state));
}

Index Index::from_bytes(std::vector<std::byte> bytes) {
  auto state = std::make_unique<State>();
  state->owned = std::move(bytes);
  state->bytes = state->owned;
  state->parse();
  return Index(std::move(state));
}

Index Index::of(std::shared_ptr<const MadeSamples> samples) {
  auto state = std::make_unique<State>();
  state->header.samples = samples->size();
  state->fields.assign(samples->fields().begin(), samples->fields().end());
  state->header.field_count = static_cast<std::uint32_t>(state->fields.size());
  state->made = std::move(samples);
  return Index(std::move(state));
}

const MadeSamples* Index::made() const {
  return state_->made.get();
}

std::uint64_t Index::size() const {
  return state_->header.samples;
}

std::span<const FieldSchema> Index::fields() const {
  return state_->fields;
}

std::uint32_t Index::file_count() const {
  return state_->header.file_count;
}

IndexedFile Index::file(std::uint32_t number) const {
  if (number >= file_count()) {
    throw Error::invalid_argument("file " + std::to_string(number) + " is outside the index");
  }
  return state_->whole([&] { return state_->indexed_file(number); });
}

std::string_view Index::key(std::uint64_t sample) const {
  if (sample >= size()) throw Error::invalid_argument("sample " + std::to_string(sample) + " is outside the index");
  if (made() != nullptr) return state_->made->key(sample);
  return state_->whole([&] {
    const auto bytes =
        between(state_->section(SectionId::key_offsets), sample, state_->section(SectionId::key_bytes), "keys");
    state_->file->require_whole(bytes);
    return text(bytes);
  });
}

std::optional<std::uint64_t> Index::find(std::string_view wanted) const {
  if (made() != nullptr) return state_->made->find(wanted);
  if ((state_->header.flags & kKeysSorted) == 0) {
    for (std::uint64_t sample = 0; sample < size(); ++sample) {
      if (key(sample) == wanted) return sample;
    }
    return std::nullopt;
  }
  std::uint64_t first = 0, last = size();
  while (first < last) {
    const std::uint64_t middle = first + (last - first) / 2;
    if (key(middle) < wanted) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  if (first < size() && key(first) == wanted) return first;
  return std::nullopt;
}

bool Index::locate(std::uint64_t sample, std::uint32_t field, std::vector<Piece>& pieces) const {
  pieces.clear();
  if (made() != nullptr) {
    state_->require_inside(sample, field);
    state_->made->locate(sample, field, pieces);
    return true;
  }
  return state_->whole([&] {
    const bool there = state_->locate(sample, field, pieces);
    for (const Piece& piece : pieces) state_->file->require_whole(piece.inline_bytes);
    return there;
  });
}

bool Index::State::locate(std::uint64_t sample, std::uint32_t field, std::vector<Piece>& pieces) const {
  const Entry entry = this->entry(sample, field);
  Piece piece{.length = entry.length(), .inline_bytes = {}};
  switch (entry.kind) {
    case EntryKind::absent:
      return false;
    case EntryKind::extent:
      piece.extent = {entry.number, entry.offset, piece.length};
      check(piece.extent);
      pieces.push_back(piece);
      return true;
    case EntryKind::block:
      check_slice(entry.number, entry.offset, piece.length);
      piece.kind = Piece::Kind::block;
      piece.block = entry.number;
      piece.offset = entry.offset;
      pieces.push_back(piece);
      return true;
    case EntryKind::bytes:
      piece.kind = Piece::Kind::bytes;
      piece.inline_bytes = slice(section(SectionId::inline_bytes), entry.offset, piece.length, "inline bytes");
      pieces.push_back(piece);
      return true;
    case EntryKind::pieces: {
      std::uint64_t sum = 0, filled = 0;
      const std::uint64_t count = section(SectionId::pieces).size() / sizeof(PieceRecord);
      require(entry.offset <= count && entry.number <= count - entry.offset, "piece number");
      for (std::uint64_t i = 0; i < entry.number; ++i) {
        pieces.push_back(this->piece(entry.offset + i));
        sum += pieces.back().length;
        if (pieces.back().kind == Piece::Kind::fill) filled += pieces.back().length;
        require(sum <= piece.length, "lengths of pieces");
      }
      require(sum == piece.length, "lengths of pieces");
      require(filled <= longest_fill[field], "a fill value longer than the field's shape");
      return true;
    }
  }
  broken("kind of entry");
}

std::uint64_t Index::length(std::uint64_t sample, std::uint32_t field) const {
  if (made() != nullptr) {
    state_->require_inside(sample, field);
    return state_->made->length(sample, field);
  }
  const Entry entry = state_->whole([&] { return state_->entry(sample, field); });
  return entry.kind == EntryKind::absent ? 0 : entry.length();
}

bool Index::complete(std::uint32_t field) const {
  if (made() != nullptr) return field < state_->fields.size();
  return field < state_->records.size() && state_->records[field].complete != 0;
}

std::optional<std::uint32_t> Index::crc32c(std::uint64_t sample, std::uint32_t field) const {
  if (made() != nullptr) return std::nullopt;
  const Entry entry = state_->whole([&] { return state_->entry(sample, field); });
  if (entry.kind == EntryKind::absent || (entry.flags & kHasCrc) == 0) return std::nullopt;
  return entry.crc32c;
}

std::span<const std::byte> Index::header(std::uint64_t sample, std::uint32_t field) const {
  if (sample >= size() || field >= state_->records.size()) return {};
  const std::uint64_t column = state_->records[field].header_column;
  if (column == kNoHeaders) return {};
  return state_->whole([&] {
    const auto bytes = between(state_->section(SectionId::header_offsets), column * (size() + 1) + sample,
                               state_->section(SectionId::header_bytes), "headers");
    state_->file->require_whole(bytes);
    return bytes;
  });
}

RangeSums Index::range_sums(std::uint64_t sample, std::uint32_t field) const {
  if (sample >= size() || field >= state_->records.size()) return {};
  const std::uint64_t column = state_->range_columns[field];
  if (column == kNoHeaders) return {};
  const auto sums = state_->section(SectionId::range_sums);
  return state_->whole([&]() -> RangeSums {
    const auto own = between(state_->section(SectionId::range_offsets), column * (size() + 1) + sample, sums, "ranges");
    if (own.empty()) return {};
    const auto begin = static_cast<std::uint64_t>(own.data() - sums.data());
    require(begin % sizeof(std::uint32_t) == 0 && own.size() % sizeof(std::uint32_t) == 0, "ranges");
    const RangeSums found(begin / sizeof(std::uint32_t), own);
    const std::uint64_t length = state_->entry(sample, field).length();
    require(found.size() == (length + RangeSums::kRange - 1) / RangeSums::kRange, "number of ranges");
    state_->file->require_whole(own);
    return found;
  });
}

std::uint64_t Index::range_count() const {
  return state_->section(SectionId::range_sums).size() / sizeof(std::uint32_t);
}

std::uint32_t Index::block_count() const {
  return state_->header.block_count;
}

Block Index::block(std::uint32_t number) const {
  if (number >= block_count()) {
    throw Error::invalid_argument("block " + std::to_string(number) + " is outside the index");
  }
  return state_->whole([&] { return state_->block(number); });
}

std::string_view Index::attributes() const {
  state_->file->require_whole(state_->section(SectionId::attributes));
  const auto json = text(state_->section(SectionId::attributes));
  return json.empty() ? "{}" : json;
}

std::uint64_t Index::key_hash() const {
  if (made() != nullptr) return state_->made->key_hash();
  return state_->header.key_hash;
}

std::span<const std::byte> Index::bytes() const {
  return state_->bytes;
}

void Index::verify() const {
  if (made() != nullptr) return;
  state_->check_content();
  state_->file->require_whole();
}

}  // namespace penstock
