// Presents one HDF5 dataset as rows along its first dimension, and locates their bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <formats/extent.hpp>
#include <formats/hdf5/chunks.hpp>
#include <formats/hdf5/dataset.hpp>
#include <formats/hdf5/file.hpp>
#include <formats/index/index.hpp>
#include <penstock/schema.hpp>

namespace penstock {

/// Rows of contiguous datasets are located by arithmetic. Compact datasets are stored in the index. The constructor
/// lists the chunks of chunked datasets once. A chunk with filters is a block that its rows share. A row that spans
/// several chunks, or only part of their width, is several pieces. If the pieces would be too many, the chunks that a
/// run of rows shares form one Mosaic. Big-endian numbers are blocks whose bytes are swapped. Parts that were never
/// written are the fill value. A scalar is one row.
class Hdf5Rows {
 public:
  /// Throws Error: unsupported (dataset.cause, rows with too many pieces, far more rows than stored ones); corrupt; io.
  Hdf5Rows(const Hdf5File& file, Hdf5Dataset dataset);

  std::uint64_t count() const { return dims_.front(); }
  const Hdf5Type& type() const { return dataset_.type; }
  /// Shape of one row, including the dimensions of an element that is an array. For opaque elements the last dimension
  /// is their bytes.
  const Shape& shape() const { return shape_; }
  std::uint64_t row_bytes() const { return row_bytes_; }
  std::uint64_t pieces_per_row() const { return row_pieces_; }
  /// Number of chunks from which each row is assembled if they form a Mosaic; else 0.
  std::uint64_t chunks_per_row() const {
    return mosaics_ ? chunk_locations_.size() / std::max<std::uint64_t>(grid_.front(), 1) : 0;
  }
  std::uint64_t rows_per_chunk() const { return dataset_.chunk_dims.empty() ? 0 : dataset_.chunk_dims.front(); }

  /// Chunks with filters, and runs of big-endian rows. Pieces refer to them by position plus first_block().
  const std::vector<Block>& blocks() const { return blocks_; }
  /// Moves the blocks to the index. Call once, before append() for that index and after all reads through this object.
  void add_blocks(IndexBuilder& builder);
  /// Appends the pieces of rows [first, first + rows), which must be inside.
  void append(std::uint64_t first, std::uint64_t rows, std::vector<Piece>& pieces) const;
  std::uint32_t first_block() const { return first_block_; }

 private:
  enum class Storage : std::uint8_t { contiguous, swapped, compact, chunked, unwritten };
  static constexpr std::uint32_t kPlain = ~std::uint32_t{0};  // no filters: its bytes are extents
  struct ChunkLocation {
    std::uint64_t offset = 0;
    bool written = false;
    std::uint32_t block = kPlain;
  };

  // References to a heap are always little-endian, independent of the byte order of the elements in the heap.
  bool swaps() const { return dataset_.type.kind == Hdf5Type::Kind::number && dataset_.type.swapped; }
  void read_shape();
  void swap_what_is_here();
  void read_contiguous(const Hdf5File& file);
  void read_grid(const Hdf5File& file);
  void locate_chunks(const Hdf5File& file);
  void add_mosaics();
  bool is_partial(std::uint64_t number) const;
  std::vector<Filter> filters_of(const Hdf5Chunk& chunk, std::uint64_t number) const;
  void add_swapped_runs(std::uint64_t offset);
  void append_swapped(std::uint64_t first, std::uint64_t rows, std::vector<Piece>& pieces) const;
  void append_row(std::uint64_t row, std::vector<Piece>& pieces) const;
  void append_run(const ChunkLocation& location, std::uint64_t offset, std::uint64_t length,
                  std::vector<Piece>& pieces) const;

  Hdf5Dataset dataset_;
  Storage storage_ = Storage::contiguous;
  std::vector<std::uint64_t> dims_;
  Shape shape_;
  std::uint64_t row_bytes_ = 1;
  std::uint64_t row_pieces_ = 1;
  std::uint64_t offset_ = 0;          // contiguous
  std::uint64_t rows_per_block_ = 1;  // swapped
  std::vector<Block> blocks_;
  std::uint32_t first_block_ = 0;
  std::uint32_t first_mosaic_ = 0;   // in blocks_
  std::vector<std::uint64_t> grid_;  // number of chunks along each dimension
  bool mosaics_ = false;             // blocks_ are all chunks in order, followed by a mosaic per chunk_dims[0] rows
  std::size_t split_ = 0;            // the last dimension that a chunk does not cover completely, 0 if there is none
  std::vector<ChunkLocation> chunk_locations_;  // of chunks, in row-major order
};

/// Reads and decodes the bytes of rows [first, first + rows) immediately, with numbers in the machine's byte order.
/// Throws Error: corrupt; unsupported; io.
class Hdf5RowReader {
 public:
  Hdf5RowReader(const Hdf5File& file, const Hdf5Rows& rows) : file_(file), rows_(rows) {}
  void read(std::uint64_t first, std::uint64_t rows, std::vector<std::byte>& out);

 private:
  const std::vector<std::byte>& undone(std::uint32_t block);
  void undo(std::uint32_t block, std::vector<std::byte>& out);

  const Hdf5File& file_;
  const Hdf5Rows& rows_;
  std::vector<Piece> pieces_;
  std::vector<std::byte> stored_, block_, scratch_;
  std::uint64_t held_ = ~std::uint64_t{0};  // number of the block in block_
};

/// Counts the cost `each` for every row. Call before keeping something for all rows: a run of zeros may represent any
/// number of rows. Throws Error: corrupt, like Hdf5File::spend.
inline void spend_for_rows(const Hdf5File& file, const Hdf5Rows& rows, std::uint64_t each) {
  std::uint64_t bytes = 0;
  file.spend(__builtin_mul_overflow(rows.count(), each, &bytes) ? ~std::uint64_t{0} : bytes);
}

/// Calls `visit` with the bytes of each row, in order. They are valid during the call. Holds only few rows in memory.
/// Throws the errors of Hdf5RowReader and `visit`.
template <typename Visit>
void for_each_row(const Hdf5File& file, const Hdf5Rows& rows, const Visit& visit) {
  constexpr std::uint64_t kMostRows = 4096, kMostBytes = std::uint64_t{1} << 20;
  const std::uint64_t width = rows.row_bytes();
  const std::uint64_t at_once = std::clamp<std::uint64_t>(kMostBytes / std::max<std::uint64_t>(width, 1), 1, kMostRows);
  Hdf5RowReader reader(file, rows);
  std::vector<std::byte> bytes;
  for (std::uint64_t row = 0; row < rows.count(); row += at_once) {
    const std::uint64_t count = std::min(at_once, rows.count() - row);
    reader.read(row, count, bytes);
    for (std::uint64_t i = 0; i < count; ++i) visit(std::span<const std::byte>(bytes).subspan(i * width, width));
  }
}

}  // namespace penstock
