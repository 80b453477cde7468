#include <limits>
#include <utility>

#include <formats/filters/filters.hpp>
#include <formats/hdf5/rows.hpp>
#include <formats/index/inline_piece.hpp>
#include <formats/mosaic.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kMostPiecesPerRow = 64;                       // rows of more pieces are read from mosaics
constexpr std::uint64_t kMostUnwrittenRows = std::uint64_t{1} << 20;  // a file with more is corrupt, or useless
constexpr std::uint64_t kFreeChunks = 65536;                          // in addition to one per 8 bytes of the file
constexpr std::uint64_t kFletcherTrailer = 4;
// Multiplied by the file's limit per byte: valid texts and numbers compress less.
constexpr std::uint64_t kUndonePerSpent = 8;
constexpr std::uint64_t kSwappedBytes = 64 << 10;  // length of a run of big-endian rows: enough for one read

std::uint64_t checked_product(std::uint64_t a, std::uint64_t b) {
  if (b != 0 && a > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) / b) {
    throw Error::corrupt("dataset of more than 2^63 bytes");
  }
  return a * b;
}

void refuse_rows(std::uint64_t unwritten) {
  if (unwritten <= kMostUnwrittenRows) return;
  throw Error::unsupported(std::to_string(unwritten) + " rows without stored values");
}

void append_piece(Piece piece, std::vector<Piece>& pieces) {
  if (piece.length == 0) return;
  if (!pieces.empty() && pieces.back().kind == piece.kind) {
    Piece& last = pieces.back();
    const bool next_extent = piece.kind == Piece::Kind::extent && last.extent.file == piece.extent.file &&
                             last.extent.offset + last.extent.length == piece.extent.offset;
    const bool next_in_block =
        piece.kind == Piece::Kind::block && last.block == piece.block && last.offset + last.length == piece.offset;
    if (next_extent || next_in_block || piece.kind == Piece::Kind::fill) {
      last.extent.length += piece.extent.length;
      last.length += piece.length;
      return;
    }
  }
  pieces.push_back(piece);
}

// Rejects a decoded length that the stored bytes cannot reach. Otherwise readers would allocate memory for nothing.
void check_block(const Block& block) {
  std::uint64_t plain = block.decoded_length;
  for (const Filter& filter : block.filters) plain += filter.id == Filter::Id::fletcher32 ? kFletcherTrailer : 0;
  const std::uint64_t longest = longest_decoded(block.extent.length, block.filters);
  const bool compressed = longest != block.extent.length;
  if (compressed ? plain <= longest : plain == block.extent.length) return;
  throw Error::corrupt(
      "chunk of " + std::to_string(block.extent.length) + " bytes cannot hold " + std::to_string(plain),
      {.offset = block.extent.offset});
}

}  // namespace

Hdf5Rows::Hdf5Rows(const Hdf5File& file, Hdf5Dataset dataset) : dataset_(std::move(dataset)), dims_(dataset_.dims) {
  if (dataset_.type.kind == Hdf5Type::Kind::other) throw Error::unsupported(dataset_.type.reason);
  if (!dataset_.cause.empty()) throw Error::unsupported(dataset_.cause);
  if (dims_.empty()) dims_ = {1};
  read_shape();
  switch (dataset_.storage) {
    case Hdf5Dataset::Storage::compact:
      storage_ = Storage::compact;
      if (dataset_.bytes.size() < row_bytes_ * count()) throw Error::corrupt("compact dataset that is too short");
      break;
    case Hdf5Dataset::Storage::contiguous:
      read_contiguous(file);
      break;
    case Hdf5Dataset::Storage::chunked:
      storage_ = Storage::chunked;
      if (dataset_.dims.empty()) throw Error::corrupt("a scalar in chunks");
      read_grid(file);
      if (row_bytes_ != 0) locate_chunks(file);
      break;
  }
  swap_what_is_here();
}

void Hdf5Rows::read_shape() {
  row_bytes_ = dataset_.type.size;
  for (std::size_t i = 1; i < dims_.size(); ++i) {
    row_bytes_ = checked_product(row_bytes_, dims_[i]);
    shape_.push_back(static_cast<std::int64_t>(checked_product(dims_[i], 1)));
  }
  for (const std::uint64_t dim : dataset_.type.dims) shape_.push_back(static_cast<std::int64_t>(dim));
  if (dataset_.type.kind == Hdf5Type::Kind::opaque) {
    std::uint64_t elements = 1;
    for (const std::uint64_t dim : dataset_.type.dims) elements *= dim;
    shape_.push_back(static_cast<std::int64_t>(elements == 0 ? 0 : dataset_.type.size / elements));
  }
  checked_product(row_bytes_, count());
  if (row_bytes_ == 0) refuse_rows(count());
}

// Swaps the numbers that are stored in the index once, here.
void Hdf5Rows::swap_what_is_here() {
  if (!swaps()) return;
  const std::size_t element = size_of(dataset_.type.dtype);
  const auto swap = [element](std::vector<std::byte>& bytes) {
    for (std::size_t at = 0; at + element <= bytes.size(); at += element) {
      const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(at);
      std::reverse(first, first + static_cast<std::ptrdiff_t>(element));
    }
  };
  swap(dataset_.bytes);
  swap(dataset_.fill);
}

void Hdf5Rows::read_contiguous(const Hdf5File& file) {
  storage_ = dataset_.address == kNoAddress || row_bytes_ == 0 ? Storage::unwritten : Storage::contiguous;
  if (storage_ == Storage::unwritten) return refuse_rows(row_bytes_ == 0 ? 0 : count());
  offset_ = file.offset_of(dataset_.address);
  if (count() > (file.size() - offset_) / row_bytes_) {
    throw Error::corrupt("dataset extends past the end of the file", {.offset = offset_});
  }
  if (swaps()) add_swapped_runs(offset_);
}

void Hdf5Rows::add_swapped_runs(std::uint64_t offset) {
  storage_ = Storage::swapped;
  rows_per_block_ = std::max<std::uint64_t>(1, kSwappedBytes / row_bytes_);
  const auto element = static_cast<std::uint32_t>(size_of(dataset_.type.dtype));
  for (std::uint64_t row = 0; row < count(); row += rows_per_block_) {
    const std::uint64_t length = std::min(rows_per_block_, count() - row) * row_bytes_;
    blocks_.push_back({{0, offset + row * row_bytes_, length}, {{Filter::Id::byte_swap, element}}, length});
  }
}

void Hdf5Rows::read_grid(const Hdf5File& file) {
  std::uint64_t chunks = 1;
  for (std::size_t i = 0; i < dims_.size(); ++i) {
    const std::uint64_t chunk = dataset_.chunk_dims[i];
    grid_.push_back(dims_[i] / chunk + (dims_[i] % chunk != 0 ? 1 : 0));
    chunks = checked_product(chunks, grid_[i]);
  }
  if (chunks > kFreeChunks + file.size() / 8)
    throw Error::unsupported("has room for more chunks than the file can contain");
  file.spend(chunks * sizeof(ChunkLocation));

  // A row's elements are neighbours from the last dimension outwards, as long as a chunk covers a dimension exactly.
  split_ = dims_.size() - 1;
  while (split_ > 0 && dataset_.chunk_dims[split_] == dims_[split_]) --split_;
  if (split_ == 0) return;
  row_pieces_ = grid_[split_];
  for (std::size_t i = 1; i < split_; ++i) row_pieces_ = checked_product(row_pieces_, dims_[i]);
  if (row_pieces_ <= kMostPiecesPerRow) return;
  const std::uint64_t together = checked_product(std::min(dataset_.chunk_dims.front(), count()), row_bytes_);
  if (std::max(together, dataset_.chunk_bytes) > kLongestMosaic) {
    throw Error::unsupported("each row is split into " + std::to_string(row_pieces_) + " pieces, in chunks that " +
                             std::to_string(together >> 20) +
                             " MiB of rows share; rewrite the dataset with chunks of whole rows (h5repack -l)");
  }
  mosaics_ = true;
  row_pieces_ = 1;
}

void Hdf5Rows::locate_chunks(const Hdf5File& file) {
  const std::vector<Hdf5Chunk> chunks = read_chunks(file, dataset_, grid_);
  chunk_locations_.resize(chunks.size());
  const std::uint64_t per_row_of_chunks = grid_.front() == 0 ? 1 : chunks.size() / grid_.front();
  std::uint64_t unwritten_rows = count();
  std::uint64_t counted = ~std::uint64_t{0};
  std::uint64_t stored = 0;
  for (std::uint64_t number = 0; number < chunks.size(); ++number) {
    const Hdf5Chunk& chunk = chunks[number];
    if (chunk.length == 0 && mosaics_) blocks_.push_back({.extent = {}, .filters = {}, .decoded_length = 0});
    if (chunk.length == 0) continue;
    chunk_locations_[number] = {chunk.offset, true, kPlain};
    stored += chunk.length;
    if (stored > file.size()) throw Error::corrupt("chunks that overlap", {.offset = chunk.offset});
    const std::uint64_t first = number / per_row_of_chunks;
    if (std::exchange(counted, first) != first) {
      const std::uint64_t row = first * dataset_.chunk_dims.front();
      unwritten_rows -= std::min(dataset_.chunk_dims.front(), count() - row);
    }
    Block block{{0, chunk.offset, chunk.length}, filters_of(chunk, number), dataset_.chunk_bytes};
    check_block(block);
    if (block.filters.empty() && !mosaics_) continue;
    chunk_locations_[number].block = static_cast<std::uint32_t>(blocks_.size());
    blocks_.push_back(std::move(block));
  }
  refuse_rows(unwritten_rows);
  if (mosaics_) add_mosaics();
}

void Hdf5Rows::add_mosaics() {
  const std::uint64_t chunk_rows = dataset_.chunk_dims.front();
  const std::uint64_t each = chunks_per_row();
  const auto chunks = static_cast<std::uint32_t>(chunk_locations_.size());
  for (std::uint64_t first = 0; first < grid_.front(); ++first) {
    Mosaic mosaic{.first_block = static_cast<std::uint32_t>(first * each),
                  .element_bytes = static_cast<std::uint32_t>(dataset_.type.size),
                  .dims = dims_,
                  .tile_dims = dataset_.chunk_dims,
                  .fill = dataset_.fill};
    mosaic.dims.front() = std::min(chunk_rows, count() - first * chunk_rows);
    blocks_.push_back(
        {.extent = {}, .filters = {}, .decoded_length = mosaic.dims.front() * row_bytes_, .mosaic = std::move(mosaic)});
  }
  first_mosaic_ = chunks;
}

bool Hdf5Rows::is_partial(std::uint64_t number) const {
  for (std::size_t i = dims_.size(); i-- > 0; number /= grid_[i]) {
    const std::uint64_t chunk = dataset_.chunk_dims[i];
    if (chunk > dims_[i] - number % grid_[i] * chunk) return true;
  }
  return false;
}

std::vector<Filter> Hdf5Rows::filters_of(const Hdf5Chunk& chunk, std::uint64_t number) const {
  std::vector<Filter> applied;
  if (swaps()) applied.push_back({Filter::Id::byte_swap, static_cast<std::uint32_t>(size_of(dataset_.type.dtype))});
  if (dataset_.plain_edges && is_partial(number)) return applied;
  for (std::size_t i = 0; i < dataset_.filters.size(); ++i) {
    const bool skipped = i < 32 && (chunk.filter_mask >> i & 1U) != 0;
    if (!skipped) applied.insert(applied.end(), dataset_.filters[i].begin(), dataset_.filters[i].end());
  }
  return applied;
}

void Hdf5Rows::add_blocks(IndexBuilder& builder) {
  bool first = true;
  std::uint32_t before = 0;
  for (Block& block : std::exchange(blocks_, {})) {
    if (block.mosaic) block.mosaic->first_block += before;
    const std::uint32_t number = builder.add_block(block);
    if (std::exchange(first, false)) before = first_block_ = number;
  }
}

void Hdf5Rows::append(std::uint64_t first, std::uint64_t rows, std::vector<Piece>& pieces) const {
  const std::uint64_t length = rows * row_bytes_;
  switch (storage_) {
    case Storage::contiguous:
      return append_piece({.kind = Piece::Kind::extent,
                           .extent = {0, offset_ + first * row_bytes_, length},
                           .length = length,
                           .inline_bytes = {}},
                          pieces);
    case Storage::compact:
      return append_piece(inline_piece(std::span(dataset_.bytes).subspan(first * row_bytes_, length)), pieces);
    case Storage::unwritten:
      return append_piece({.kind = Piece::Kind::fill, .length = length, .inline_bytes = dataset_.fill}, pieces);
    case Storage::swapped:
      return append_swapped(first, rows, pieces);
    case Storage::chunked:
      break;
  }
  if (row_bytes_ == 0) return;
  const std::uint64_t chunk_rows = dataset_.chunk_dims.front();
  const std::uint64_t end = first + rows;
  for (std::uint64_t row = first; row < end;) {
    if (split_ != 0 && !mosaics_) {
      append_row(row++, pieces);
      continue;
    }
    const std::uint64_t inside = row % chunk_rows;
    const std::uint64_t run = std::min(end - row, chunk_rows - inside);
    if (mosaics_) {
      append_piece({.kind = Piece::Kind::block,
                    .block = first_block_ + first_mosaic_ + static_cast<std::uint32_t>(row / chunk_rows),
                    .offset = inside * row_bytes_,
                    .length = run * row_bytes_,
                    .inline_bytes = {}},
                   pieces);
      row += run;
      continue;
    }
    append_run(chunk_locations_[row / chunk_rows], inside * row_bytes_, run * row_bytes_, pieces);
    row += run;
  }
}

void Hdf5Rows::append_swapped(std::uint64_t first, std::uint64_t rows, std::vector<Piece>& pieces) const {
  const std::uint64_t end = first + rows;
  for (std::uint64_t row = first; row < end;) {
    const std::uint64_t inside = row % rows_per_block_;
    const std::uint64_t run = std::min(end - row, rows_per_block_ - inside);
    append_piece({.kind = Piece::Kind::block,
                  .block = first_block_ + static_cast<std::uint32_t>(row / rows_per_block_),
                  .offset = inside * row_bytes_,
                  .length = run * row_bytes_,
                  .inline_bytes = {}},
                 pieces);
    row += run;
  }
}

// Handles rows wider than a chunk: an odometer over the dimensions before split_, then chunk by chunk along split_.
void Hdf5Rows::append_row(std::uint64_t row, std::vector<Piece>& pieces) const {
  const std::vector<std::uint64_t>& chunk_dims = dataset_.chunk_dims;
  std::vector<std::uint64_t> at(dims_.size(), 0);
  at.front() = row;
  std::uint64_t inner = dataset_.type.size;  // bytes of one step along split_
  for (std::size_t i = split_ + 1; i < dims_.size(); ++i) inner *= dims_[i];
  for (bool more = true; more;) {
    for (at[split_] = 0; at[split_] < dims_[split_];) {
      std::uint64_t chunk = 0;
      std::uint64_t offset = 0;  // in the chunk, in elements
      for (std::size_t i = 0; i < dims_.size(); ++i) {
        chunk = chunk * grid_[i] + at[i] / chunk_dims[i];
        offset = offset * chunk_dims[i] + at[i] % chunk_dims[i];
      }
      const std::uint64_t run = std::min(chunk_dims[split_], dims_[split_] - at[split_]);
      append_run(chunk_locations_[chunk], offset * dataset_.type.size, run * inner, pieces);
      at[split_] += run;
    }
    at[split_] = 0;
    more = false;
    for (std::size_t i = split_; i-- > 1 && !more;) {
      more = ++at[i] < dims_[i];
      if (!more) at[i] = 0;
    }
  }
}

void Hdf5Rows::append_run(const ChunkLocation& location, std::uint64_t offset, std::uint64_t length,
                          std::vector<Piece>& pieces) const {
  if (!location.written) {
    append_piece({.kind = Piece::Kind::fill, .length = length, .inline_bytes = dataset_.fill}, pieces);
  } else if (location.block == kPlain) {
    append_piece({.kind = Piece::Kind::extent,
                  .extent = {0, location.offset + offset, length},
                  .length = length,
                  .inline_bytes = {}},
                 pieces);
  } else {
    append_piece({.kind = Piece::Kind::block,
                  .block = first_block_ + location.block,
                  .offset = offset,
                  .length = length,
                  .inline_bytes = {}},
                 pieces);
  }
}

const std::vector<std::byte>& Hdf5RowReader::undone(std::uint32_t number) {
  if (held_ == number) return block_;
  const Block& block = rows_.blocks().at(number);
  held_ = ~std::uint64_t{0};
  if (block.mosaic) {
    assemble(*block.mosaic, block_, [this](std::uint32_t tile, std::vector<std::byte>& out) { undo(tile, out); });
  } else {
    undo(number, block_);
  }
  held_ = number;
  return block_;
}

void Hdf5RowReader::undo(std::uint32_t number, std::vector<std::byte>& out) {
  const Block& block = rows_.blocks().at(number);
  out.clear();
  if (block.decoded_length == 0) return;
  if (!block.filters.empty()) file_.spend(block.decoded_length / kUndonePerSpent);
  stored_.resize(block.extent.length);
  file_.read_values(block.extent.offset, stored_);
  undo_filters(block, stored_, out, scratch_);
}

void Hdf5RowReader::read(std::uint64_t first, std::uint64_t rows, std::vector<std::byte>& out) {
  pieces_.clear();
  rows_.append(first, rows, pieces_);
  out.resize(rows * rows_.row_bytes());
  std::size_t done = 0;
  for (const Piece& piece : pieces_) {
    const std::span<std::byte> to = std::span(out).subspan(done, piece.length);
    switch (piece.kind) {
      case Piece::Kind::extent:
        file_.read_values(piece.extent.offset, to);
        break;
      case Piece::Kind::block: {
        const std::vector<std::byte>& bytes = undone(piece.block - rows_.first_block());
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(piece.offset), piece.length, to.begin());
        break;
      }
      case Piece::Kind::bytes:
        std::copy(piece.inline_bytes.begin(), piece.inline_bytes.end(), to.begin());
        break;
      case Piece::Kind::fill:
        for (std::size_t i = 0; i < to.size(); ++i) to[i] = piece.inline_bytes[i % piece.inline_bytes.size()];
        break;
    }
    done += piece.length;
  }
}

}  // namespace penstock
