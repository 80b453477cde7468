#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <penstock/formats/hdf5_rows.hpp>
#include <penstock/formats/hdf5_types.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kMostPiecesPerRow = 1024;
constexpr std::uint64_t kMostUnwrittenRows = std::uint64_t{1} << 20;  // more is a broken file, or useless
constexpr std::uint64_t kFreeChunks = 65536;                          // beside one per 8 bytes of the file
constexpr std::uint64_t kDeflateRatio = 1032;                         // the most that deflate can shrink anything
constexpr std::uint64_t kFletcherTrailer = 4;

std::uint64_t product(std::uint64_t a, std::uint64_t b) {
  if (b != 0 && a > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) / b) {
    throw Error::corrupt("dataset of more than 2^63 bytes");
  }
  return a * b;
}

void refuse_rows(std::uint64_t unwritten) {
  if (unwritten <= kMostUnwrittenRows) return;
  throw Error::unsupported(std::to_string(unwritten) + " rows of which nothing is stored");
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

}  // namespace

Hdf5Rows::Hdf5Rows(const Hdf5File& file, hid_t dataset) {
  const Hdf5Handle type = file.handle(H5Dget_type(dataset), "cannot read the type");
  const std::optional<DType> dtype = dtype_of_hdf5(type.get());
  if (!dtype) throw Error::unsupported("elements are not little-endian numbers");
  dtype_ = *dtype;
  element_bytes_ = size_of(dtype_);
  read_shape(file, dataset);

  const Hdf5Handle properties = file.handle(H5Dget_create_plist(dataset), "cannot read the properties");
  read_fill_value(file, properties.get(), type.get());
  switch (H5Pget_layout(properties.get())) {
    case H5D_COMPACT:
      storage_ = Storage::compact;
      read_compact(file, dataset, type.get());
      break;
    case H5D_CONTIGUOUS:
      if (H5Pget_external_count(properties.get()) > 0) throw Error::unsupported("bytes lie in external files");
      // The offset of what was never written is not HADDR_UNDEF in a file with a user block, but that plus its size.
      storage_ = H5Dget_storage_size(dataset) == 0 ? Storage::unwritten : Storage::contiguous;
      offset_ = H5Dget_offset(dataset);
      check_contiguous(file);
      break;
    case H5D_CHUNKED:
      storage_ = Storage::chunked;
      read_filters(file, properties.get());
      read_chunks(file, dataset, properties.get());
      break;
    case H5D_VIRTUAL:
      throw Error::unsupported("virtual: its bytes lie in other datasets");
    default:
      throw file.failure("cannot read the layout");
  }
}

void Hdf5Rows::read_shape(const Hdf5File& file, hid_t dataset) {
  const Hdf5Handle space = file.handle(H5Dget_space(dataset), "cannot read the shape");
  const int rank = H5Sget_simple_extent_ndims(space.get());
  file.check(rank, "cannot read the shape");
  if (rank == 0) throw Error::unsupported("a scalar, without rows");
  std::vector<hsize_t> dims(static_cast<std::size_t>(rank));
  file.check(H5Sget_simple_extent_dims(space.get(), dims.data(), nullptr), "cannot read the shape");
  dims_.assign(dims.begin(), dims.end());
  row_bytes_ = element_bytes_;
  for (std::size_t i = 1; i < dims_.size(); ++i) {
    row_bytes_ = product(row_bytes_, dims_[i]);
    shape_.push_back(static_cast<std::int64_t>(product(dims_[i], 1)));
  }
  product(row_bytes_, count());
  if (row_bytes_ == 0) refuse_rows(count());
}

void Hdf5Rows::read_fill_value(const Hdf5File& file, hid_t properties, hid_t type) {
  fill_.resize(element_bytes_);
  H5D_fill_value_t defined = H5D_FILL_VALUE_UNDEFINED;
  file.check(H5Pfill_value_defined(properties, &defined), "cannot read the fill value");
  if (defined != H5D_FILL_VALUE_USER_DEFINED) return;
  file.check(H5Pget_fill_value(properties, type, fill_.data()), "cannot read the fill value");
}

void Hdf5Rows::read_compact(const Hdf5File& file, hid_t dataset, hid_t type) {
  constexpr std::uint64_t kMostCompact = 65536;
  const std::uint64_t length = row_bytes_ * count();
  if (length > kMostCompact) throw Error::corrupt("compact dataset of " + std::to_string(length) + " bytes");
  bytes_.resize(length);
  if (length == 0) return;
  file.check(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes_.data()), "cannot read a compact dataset");
}

void Hdf5Rows::check_contiguous(const Hdf5File& file) const {
  if (row_bytes_ == 0) return;
  if (storage_ == Storage::unwritten) return refuse_rows(count());
  if (offset_ > file.size() || count() > (file.size() - offset_) / row_bytes_) {
    throw Error::corrupt("dataset runs over the file's end", {.offset = offset_});
  }
}

void Hdf5Rows::read_filters(const Hdf5File& file, hid_t properties) {
  const int count = H5Pget_nfilters(properties);
  file.check(count, "cannot read the filters");
  for (int i = 0; i < count; ++i) {
    unsigned flags = 0;
    unsigned config = 0;
    std::array<unsigned, 8> values{};
    std::size_t value_count = values.size();
    std::array<char, 64> name{};
    const H5Z_filter_t id = H5Pget_filter2(properties, static_cast<unsigned>(i), &flags, &value_count, values.data(),
                                           name.size() - 1, name.data(), &config);
    file.check(id, "cannot read the filters");
    switch (id) {
      case H5Z_FILTER_DEFLATE:
        filters_.push_back({Filter::Id::deflate, 0});
        break;
      case H5Z_FILTER_FLETCHER32:
        filters_.push_back({Filter::Id::fletcher32, 0});
        break;
      case H5Z_FILTER_SHUFFLE:
        filters_.push_back(
            {Filter::Id::shuffle, value_count == 0 ? static_cast<std::uint32_t>(element_bytes_) : values[0]});
        break;
      default:
        throw Error::unsupported("filter " + std::to_string(id) + " (" + name.data() + ")");
    }
  }
}

void Hdf5Rows::read_chunks(const Hdf5File& file, hid_t dataset, hid_t properties) {
  std::vector<hsize_t> dims(dims_.size());
  if (H5Pget_chunk(properties, static_cast<int>(dims.size()), dims.data()) != static_cast<int>(dims.size())) {
    throw file.failure("cannot read the shape of the chunks");
  }
  chunk_dims_.assign(dims.begin(), dims.end());
  unsigned options = 0;
  file.check(H5Pget_chunk_opts(properties, &options), "cannot read the options of the chunks");
  plain_edges_ = (options & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS) != 0;
  chunk_bytes_ = element_bytes_;
  std::uint64_t chunks = 1;
  for (std::size_t i = 0; i < dims_.size(); ++i) {
    if (chunk_dims_[i] == 0) throw Error::corrupt("chunks of no size");
    chunk_bytes_ = product(chunk_bytes_, chunk_dims_[i]);
    grid_.push_back(dims_[i] / chunk_dims_[i] + (dims_[i] % chunk_dims_[i] != 0 ? 1 : 0));
    chunks = product(chunks, grid_[i]);
  }
  if (chunks > kFreeChunks + file.size() / 8)
    throw Error::unsupported("has room for more chunks than the file can hold");

  // From the last dimension outwards, as long as a chunk covers a dimension exactly, a row's elements are neighbours.
  split_ = dims_.size() - 1;
  while (split_ > 0 && chunk_dims_[split_] == dims_[split_]) --split_;
  if (split_ != 0) {
    row_pieces_ = grid_[split_];
    for (std::size_t i = 1; i < split_; ++i) row_pieces_ = product(row_pieces_, dims_[i]);
    if (row_pieces_ > kMostPiecesPerRow) {
      throw Error::unsupported("each row lies in " + std::to_string(row_pieces_) +
                               " pieces of its chunks; rewrite it with chunks of whole rows (h5repack -l)");
    }
  }

  chunks_.resize(chunks);
  std::vector<hsize_t> corner(dims_.size());
  std::uint64_t unwritten_rows = count();
  std::uint64_t counted = count();  // first row of the last row of chunks of which something is stored
  for (std::uint64_t number = 0; number < chunks; ++number) {
    std::uint64_t rest = number;
    for (std::size_t i = dims_.size(); i-- > 0; rest /= grid_[i]) corner[i] = rest % grid_[i] * chunk_dims_[i];
    chunks_[number] = look_up(file, dataset, corner);
    if (chunks_[number].length != 0 && corner.front() != counted) {
      counted = corner.front();
      unwritten_rows -= std::min(chunk_dims_.front(), count() - counted);
    }
  }
  refuse_rows(unwritten_rows);
  const auto found =
      std::count_if(chunks_.begin(), chunks_.end(), [](const Chunk& chunk) { return chunk.length != 0; });
  hsize_t listed = 0;
  const Hdf5Handle space = file.handle(H5Dget_space(dataset), "cannot read the shape");
  file.check(H5Dget_num_chunks(dataset, space.get(), &listed), "cannot count the chunks");
  if (listed != static_cast<hsize_t>(found)) throw file.failure("chunks that cannot be looked up");
}

Hdf5Rows::Chunk Hdf5Rows::look_up(const Hdf5File& file, hid_t dataset, const std::vector<hsize_t>& corner) const {
  Chunk chunk;
  hsize_t stored = 0;
  // libhdf5 1.10 fails for a chunk that was never written, later ones say 0; read_chunks() counts what is found.
  if (H5Dget_chunk_storage_size(dataset, corner.data(), &stored) < 0 || stored == 0) return chunk;
  if (stored > file.size()) throw Error::corrupt("chunk of " + std::to_string(stored) + " bytes");
  const auto space = std::make_unique_for_overwrite<std::byte[]>(stored);  // libhdf5 wants it; nothing is read into it
  const std::optional<Hdf5File::Raw> raw = file.read_by([&] {
    file.check(H5Dread_chunk(dataset, H5P_DEFAULT, corner.data(), &chunk.filter_mask, space.get()),
               "cannot look up a chunk");
  });
  if (!raw || raw->length != stored) throw Error::corrupt("chunk without a place");
  chunk.offset = raw->offset;
  chunk.length = raw->length;
  if (chunk.offset > file.size() || chunk.length > file.size() - chunk.offset) {
    throw Error::corrupt("chunk runs over the file's end", {.offset = chunk.offset});
  }
  if (plain_edges_ && is_partial(corner)) chunk.filter_mask = ~std::uint32_t{0};
  check_chunk(chunk);
  return chunk;
}

bool Hdf5Rows::is_partial(const std::vector<hsize_t>& corner) const {
  for (std::size_t i = 0; i < dims_.size(); ++i) {
    if (chunk_dims_[i] > dims_[i] - corner[i]) return true;
  }
  return false;
}

// A stored length that no bytes could decode from would make readers allocate for nothing.
void Hdf5Rows::check_chunk(const Chunk& chunk) const {
  std::uint64_t plain = chunk_bytes_;
  bool deflated = false;
  for (const Filter& filter : filters_of(chunk)) {
    if (filter.id == Filter::Id::fletcher32) plain += kFletcherTrailer;
    deflated = deflated || filter.id == Filter::Id::deflate;
  }
  const bool possible = deflated ? plain <= (chunk.length + kFletcherTrailer) * kDeflateRatio : plain == chunk.length;
  if (!possible) {
    throw Error::corrupt("chunk of " + std::to_string(chunk.length) + " bytes cannot hold " + std::to_string(plain),
                         {.offset = chunk.offset});
  }
}

std::vector<Filter> Hdf5Rows::filters_of(const Chunk& chunk) const {
  std::vector<Filter> applied;
  for (std::size_t i = 0; i < filters_.size(); ++i) {
    const bool skipped = i < 32 && (chunk.filter_mask >> i & 1U) != 0;
    if (!skipped) applied.push_back(filters_[i]);
  }
  return applied;
}

void Hdf5Rows::add_blocks(IndexBuilder& builder, std::uint32_t file) {
  file_ = file;
  for (Chunk& chunk : chunks_) {
    std::vector<Filter> filters = filters_of(chunk);
    if (chunk.length == 0 || filters.empty()) continue;
    chunk.block = builder.add_block({{file, chunk.offset, chunk.length}, std::move(filters), chunk_bytes_});
  }
}

void Hdf5Rows::append(std::uint64_t first, std::uint64_t rows, std::vector<Piece>& pieces) const {
  const std::uint64_t length = rows * row_bytes_;
  switch (storage_) {
    case Storage::contiguous:
      return append_piece({.kind = Piece::Kind::extent,
                           .extent = {file_, offset_ + first * row_bytes_, length},
                           .length = length,
                           .inline_bytes = {}},
                          pieces);
    case Storage::compact:
      return append_piece({.kind = Piece::Kind::bytes,
                           .length = length,
                           .inline_bytes = std::span(bytes_).subspan(first * row_bytes_, length)},
                          pieces);
    case Storage::unwritten:
      return append_piece({.kind = Piece::Kind::fill, .length = length, .inline_bytes = fill_}, pieces);
    case Storage::chunked:
      break;
  }
  if (row_bytes_ == 0) return;
  const std::uint64_t end = first + rows;
  for (std::uint64_t row = first; row < end;) {
    if (split_ != 0) {
      append_row(row++, pieces);
      continue;
    }
    const std::uint64_t inside = row % chunk_dims_.front();
    const std::uint64_t run = std::min(end - row, chunk_dims_.front() - inside);
    append_run(chunks_[row / chunk_dims_.front()], inside * row_bytes_, run * row_bytes_, pieces);
    row += run;
  }
}

// A row of chunks narrower than it: odometer over the dimensions before split_, then chunk by chunk along split_.
void Hdf5Rows::append_row(std::uint64_t row, std::vector<Piece>& pieces) const {
  std::vector<std::uint64_t> at(dims_.size(), 0);
  at.front() = row;
  std::uint64_t inner = element_bytes_;  // bytes of one step along split_
  for (std::size_t i = split_ + 1; i < dims_.size(); ++i) inner *= dims_[i];
  for (bool more = true; more;) {
    for (at[split_] = 0; at[split_] < dims_[split_];) {
      std::uint64_t chunk = 0;
      std::uint64_t offset = 0;  // in the chunk, in elements
      for (std::size_t i = 0; i < dims_.size(); ++i) {
        chunk = chunk * grid_[i] + at[i] / chunk_dims_[i];
        offset = offset * chunk_dims_[i] + at[i] % chunk_dims_[i];
      }
      const std::uint64_t run = std::min(chunk_dims_[split_], dims_[split_] - at[split_]);
      append_run(chunks_[chunk], offset * element_bytes_, run * inner, pieces);
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

void Hdf5Rows::append_run(const Chunk& chunk, std::uint64_t offset, std::uint64_t length,
                          std::vector<Piece>& pieces) const {
  if (chunk.length == 0) {
    append_piece({.kind = Piece::Kind::fill, .length = length, .inline_bytes = fill_}, pieces);
  } else if (chunk.block == kPlain) {
    append_piece({.kind = Piece::Kind::extent,
                  .extent = {file_, chunk.offset + offset, length},
                  .length = length,
                  .inline_bytes = {}},
                 pieces);
  } else {
    append_piece(
        {.kind = Piece::Kind::block, .block = chunk.block, .offset = offset, .length = length, .inline_bytes = {}},
        pieces);
  }
}

}  // namespace penstock
