#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <formats/dataset.hpp>
#include <formats/extent.hpp>
#include <formats/filters/filters.hpp>
#include <formats/index/index.hpp>
#include <formats/index/indexed_path.hpp>
#include <formats/index/probe_stamp.hpp>
#include <formats/index/row_key.hpp>
#include <formats/index/row_limit.hpp>
#include <formats/index/shared_rows.hpp>
#include <formats/npy/npy.hpp>
#include <formats/places/places.hpp>
#include <formats/text/npy_header.hpp>
#include <formats/zip/entries.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLoneArray = "value";
constexpr std::uint64_t kLongestHeader = std::uint64_t{1} << 20;

/// An array and the location of its rows: in the file, or in a block that holds the whole .npy file. Compressed members
/// and arrays in Fortran order need a block.
struct Array {
  std::string name;
  NpyHeader header;
  std::uint64_t data = 0;  // offset of the first row, in the file or in the block
  std::optional<Block> block = {};
  std::optional<std::uint32_t> block_number = {};

  std::uint64_t rows() const { return static_cast<std::uint64_t>(header.shape.front()); }
  Shape row() const { return {header.shape.begin() + 1, header.shape.end()}; }
  ColumnSize size() const {
    return {.name = name, .rows = rows(), .row = row(), .bytes = rows() * header.row_bytes(), .numbers = true};
  }
};

/// Checks that the rows fit into the `available` bytes after the header. Throws Error: unsupported, corrupt.
void require_rows(const NpyHeader& header, std::uint64_t available) {
  if (header.shape.empty()) throw Error::unsupported("npy: a scalar has no rows");
  const std::uint64_t row_bytes = header.row_bytes(), rows = static_cast<std::uint64_t>(header.shape.front());
  if (row_bytes == 0) throw Error::unsupported("npy: rows of 0 bytes, of shape " + to_string(header.shape));
  if (rows > available / row_bytes) {
    throw Error::corrupt("npy: ends before the last row of " + to_string(header.shape));
  }
}

/// Reads the header at `offset`. `available` bytes include the header and the rows.
NpyHeader header_at(HeaderWindow& file, std::uint64_t offset, std::uint64_t available) {
  try {
    const std::uint64_t begin = std::min<std::uint64_t>(available, 12);
    const std::span<const std::byte> first = file.read(offset, begin);
    std::uint64_t length = 10 + (first.size() < 10 ? 0 : little_endian<std::uint16_t>(first, 8));
    const bool long_header = first.size() == 12 && first[6] != std::byte{1};
    if (long_header) length = std::uint64_t{12} + little_endian<std::uint32_t>(first, 8);
    if (length > kLongestHeader) throw Error::unsupported("npy: a header of " + std::to_string(length) + " bytes");
    NpyHeader header = read_npy_header(file.read(offset, std::min(length, available)));
    require_rows(header, available - header.data_begin);
    return header;
  } catch (const Error& error) {
    throw error.in({.shard = file.shard(), .offset = offset});
  }
}

bool is_swapped(const NpyHeader& header) {
  return header.swapped && size_of(header.dtype) > 1;
}

/// Makes the rows of `array` slices of its block. Adds the filters of elements in Fortran or big-endian order.
void slice_block(Array& array, const HeaderWindow& file, std::uint64_t offset) {
  array.data = array.header.data_begin;
  std::vector<Filter> applied;
  if (is_swapped(array.header)) {
    const std::size_t element = size_of(array.header.dtype);
    if (array.data % element != 0)
      throw file.unsupported("npy: big-endian elements after a header of odd length", offset);
    applied.push_back({Filter::Id::byte_swap, static_cast<std::uint32_t>(element)});
  }
  if (array.header.fortran) applied.push_back({Filter::Id::npy_order, 0});
  array.block->filters.insert(array.block->filters.begin(), applied.begin(), applied.end());
}

/// Reads the array at `offset` of the file, in `available` bytes.
Array stored_array(HeaderWindow& file, std::uint64_t offset, std::uint64_t available) {
  Array array{.name = {}, .header = header_at(file, offset, available)};
  array.data = offset + array.header.data_begin;
  if (!array.header.fortran) return array;
  const std::uint64_t length = array.header.data_begin + array.size().bytes;
  array.block = Block{.extent = {0, offset, length}, .filters = {}, .decoded_length = length};
  slice_block(array, file, offset);
  return array;
}

Array compressed_member(HeaderWindow& file, const ZipEntry& entry) {
  Array array{.name = {}, .header = {}, .block = block_of(entry, 0)};
  std::vector<std::byte> plain, scratch;
  try {
    undo_filters(*array.block, file.read(entry.data, entry.stored), plain, scratch);
    array.header = read_npy_header(plain);
    require_rows(array.header, plain.size() - array.header.data_begin);
  } catch (const Error& error) {
    throw error.in({.shard = file.shard(), .offset = entry.header});
  }
  slice_block(array, file, entry.header);
  return array;
}

class NpyIndexer {
 public:
  NpyIndexer(const fs::path& shard, const fs::path& root, std::string rows)
      : file_(shard, indexed_path(shard, root)), rows_(std::move(rows)) {}

  Index index() {
    const std::span<const std::byte> first = file_.read(0, std::min<std::uint64_t>(file_.size(), 4));
    const bool archive = text_of(first).starts_with("PK") || file_.path().extension() == ".npz";
    archive ? read_archive() : read_array();
    const std::uint64_t count = leave_out_other_counts();
    builder_.add_file({.path = file_.shard(), .size = file_.size(), .stamp = archive ? zip_stamp(file_) : 0});
    std::vector<std::uint32_t> fields;
    for (Array& array : arrays_) {
      fields.push_back(builder_.field(
          {.name = array.name, .codec = "raw", .dtype = array.header.dtype, .shape = array.row(), .fixed = true}));
      if (array.block) array.block_number = builder_.add_block(*array.block);
    }
    require_rows_are_few(count);
    for (std::uint64_t row = 0; row < count; ++row) {
      builder_.add_sample(row_key(row, count));
      for (std::size_t i = 0; i < arrays_.size(); ++i) set_row(fields[i], arrays_[i], row);
    }
    if (!left_out_.empty()) {
      builder_.set_attributes(
          nlohmann::json{{"left_out", left_out_}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    }
    return std::move(builder_).finish();
  }

 private:
  void read_array() {
    arrays_.push_back(stored_array(file_, 0, file_.size()));
    arrays_.back().name = kLoneArray;
  }

  void read_archive() {
    std::optional<Error> first_failure;
    for (const ZipEntry& entry : read_zip_entries(file_)) {
      if (entry.is_folder || !entry.name.ends_with(".npy")) continue;
      const std::string name = entry.name.substr(0, entry.name.size() - 4);
      try {
        arrays_.push_back(is_stored(entry) ? stored_array(file_, entry.data, entry.stored)
                                           : compressed_member(file_, entry));
        arrays_.back().name = name;
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::unsupported) throw;
        left_out_[name] = error.cause();
        if (!first_failure) first_failure = error.in({.field = name});
      }
    }
    if (!arrays_.empty()) return;
    if (first_failure) throw Error(*first_failure);
    throw file_.unsupported("an archive without arrays (*.npy)", 0);
  }

  std::uint64_t leave_out_other_counts() {
    std::vector<ColumnSize> columns;
    for (const Array& array : arrays_) columns.push_back(array.size());
    std::uint64_t count = 0;
    try {
      count = rows_.empty() ? shared_rows(columns, "save the arrays of the samples to a separate file")
                            : rows_of_column(columns, rows_);
    } catch (const Error& error) {
      throw error.in({.shard = file_.shard()});
    }
    std::erase_if(arrays_, [&](const Array& array) {
      if (array.rows() == count) return false;
      left_out_[array.name] = other_rows(array.rows(), count);
      return true;
    });
    return count;
  }

  void require_rows_are_few(std::uint64_t count) const {
    try {
      require_row_limit(count, arrays_.size(), file_.size());
    } catch (const Error& error) {
      throw error.in({.shard = file_.shard()});
    }
  }

  void set_row(std::uint32_t field, const Array& array, std::uint64_t row) {
    const std::uint64_t length = array.header.row_bytes();
    const std::uint64_t offset = array.data + row * length;
    const Extent extent{.file = 0, .offset = offset, .length = length};
    Piece piece{.kind = Piece::Kind::block, .offset = offset, .length = length, .inline_bytes = {}};
    if (array.block_number) {
      piece.block = *array.block_number;
    } else if (is_swapped(array.header)) {
      const auto element = static_cast<std::uint32_t>(size_of(array.header.dtype));
      piece.block = builder_.add_block(
          {.extent = extent, .filters = {{Filter::Id::byte_swap, element}}, .decoded_length = length});
      piece.offset = 0;
    } else {
      return builder_.set(field, extent);
    }
    builder_.set(field, std::span(&piece, 1));
  }

  HeaderWindow file_;
  const std::string rows_;  // OpenOptions::rows
  IndexBuilder builder_;
  std::vector<Array> arrays_;
  std::map<std::string, std::string> left_out_;
};

Index index_npy_with(const fs::path& shard, const fs::path& root, const OpenOptions& options, const OpenProgress&) {
  return NpyIndexer(shard, root, options.rows).index();
}

Index index_npy(const fs::path& shard, const fs::path& root, const OpenProgress& progress) {
  return index_npy_with(shard, root, {}, progress);
}

// Validating a single array costs as much as indexing it again, so only archives are validated.
bool npy_proves(const fs::path& shard, const Index& index, const OpenProgress& progress) {
  return index.file_count() == 1 && index.file(0).stamp != 0 && zip_proves(shard, index, progress);
}

std::vector<fs::path> find_npy(const fs::path& path) {
  if (!is_file(path)) return {};
  if (path.extension() == ".npy" || path.extension() == ".npz") return {path};
  HeaderWindow file(path, path.filename().string());
  const bool begins = file.size() >= 6 && text_of(file.read(0, 6, 6)) == "\x93NUMPY";
  return begins ? std::vector{path} : std::vector<fs::path>();
}

}  // namespace

constinit const Format kNpy{.name = "npy",
                            .extension = ".npy",
                            .find_shards = find_npy,
                            .index = index_npy,
                            .stamp = probe_stamp,
                            .write = nullptr,
                            .proves = npy_proves,
                            .reader = 3,  // 1: evidence decides which arrays are rows; 2: texts; 3: Fortran order
                            .depends = [](const OpenOptions& options) { return !options.rows.empty(); },
                            .index_with = index_npy_with,
                            .columns = true};

}  // namespace penstock
