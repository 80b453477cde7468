// One HDF5 dataset as rows along its first dimension, and where their bytes lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <penstock/formats/extent.hpp>
#include <penstock/formats/hdf5_file.hpp>
#include <penstock/formats/index.hpp>
#include <penstock/formats/schema.hpp>

namespace penstock {

/// Contiguous datasets are arithmetic. Compact ones are read here, once. Of chunked ones every chunk is looked up here;
/// a chunk with filters is a block that its rows share, and a row that spans several chunks, or only part of their
/// width, is several pieces. What was never written is the fill value.
class Hdf5Rows {
 public:
  /// Throws Error: unsupported (scalar, element type, filter, external or virtual storage, rows in too many pieces, far
  /// more rows than stored ones); corrupt; io.
  Hdf5Rows(const Hdf5File& file, hid_t dataset);

  std::uint64_t count() const { return dims_.front(); }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }  ///< of one row
  std::uint64_t row_bytes() const { return row_bytes_; }
  std::uint64_t pieces_per_row() const { return row_pieces_; }

  /// Registers the chunks with filters. Call once, before append().
  void add_blocks(IndexBuilder& builder, std::uint32_t file);
  /// Appends the pieces of rows [first, first + rows), which must lie inside.
  void append(std::uint64_t first, std::uint64_t rows, std::vector<Piece>& pieces) const;

 private:
  enum class Storage : std::uint8_t { contiguous, compact, chunked, unwritten };
  struct Chunk {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;  // stored bytes; 0: never written
    std::uint32_t filter_mask = 0;
    std::uint32_t block = kPlain;
  };
  static constexpr std::uint32_t kPlain = ~std::uint32_t{0};  // no filters: its bytes are extents

  void read_shape(const Hdf5File& file, hid_t dataset);
  void read_fill_value(const Hdf5File& file, hid_t properties, hid_t type);
  void read_compact(const Hdf5File& file, hid_t dataset, hid_t type);
  void read_filters(const Hdf5File& file, hid_t properties);
  void read_chunks(const Hdf5File& file, hid_t dataset, hid_t properties);
  Chunk look_up(const Hdf5File& file, hid_t dataset, const std::vector<hsize_t>& corner) const;
  bool is_partial(const std::vector<hsize_t>& corner) const;
  void check_contiguous(const Hdf5File& file) const;
  void check_chunk(const Chunk& chunk) const;
  std::vector<Filter> filters_of(const Chunk& chunk) const;
  void append_row(std::uint64_t row, std::vector<Piece>& pieces) const;
  void append_run(const Chunk& chunk, std::uint64_t offset, std::uint64_t length, std::vector<Piece>& pieces) const;

  Storage storage_ = Storage::contiguous;
  DType dtype_ = DType::u8;
  std::vector<std::uint64_t> dims_;
  Shape shape_;
  std::uint64_t element_bytes_ = 1;
  std::uint64_t row_bytes_ = 1;
  std::uint64_t row_pieces_ = 1;
  std::uint64_t offset_ = 0;  // contiguous
  std::uint32_t file_ = 0;
  std::vector<std::byte> bytes_;  // compact
  std::vector<std::byte> fill_;   // one element
  std::vector<Filter> filters_;
  std::vector<std::uint64_t> chunk_dims_;
  std::vector<std::uint64_t> grid_;  // chunks along each dimension
  bool plain_edges_ = false;         // chunks that reach over the dataset's edge have no filters
  std::uint64_t chunk_bytes_ = 0;    // without filters
  std::size_t split_ = 0;            // the last dimension that the chunks do not cover as a whole, 0 when none
  std::vector<Chunk> chunks_;        // in row-major order
};

}  // namespace penstock
