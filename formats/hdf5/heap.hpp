// Reads HDF5 heaps: fractal heaps hold links and attributes, global heaps hold variable-length values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include <formats/hdf5/file.hpp>

namespace penstock {

/// A fractal heap: links and attributes of objects that have many. Its blocks double in size from row to row.
class Hdf5Heap {
 public:
  /// Throws Error: corrupt; unsupported (compressed heaps); io.
  Hdf5Heap(const Hdf5File& file, std::uint64_t address);
  /// Returns the object with that ID. Throws Error: corrupt; unsupported (objects outside the heap's blocks); io.
  std::vector<std::byte> object(std::span<const std::byte> id) const;

 private:
  std::uint64_t row_bytes(std::uint64_t row) const;
  std::vector<std::byte> read_direct(std::uint64_t block, std::uint64_t offset, std::uint64_t length,
                                     std::uint64_t block_bytes) const;

  const Hdf5File& file_;
  std::uint64_t table_width_ = 0, first_block_bytes_ = 0, largest_direct_ = 0;
  std::size_t offset_width_ = 0, length_width_ = 0;
  std::uint64_t root_ = 0, root_rows_ = 0;
};

/// Global heap collections, which store the elements of variable-length datasets. Caches the collections it has read.
class Hdf5Collections {
 public:
  explicit Hdf5Collections(const Hdf5File& file) : file_(file) {}

  struct Location {
    std::uint64_t offset;  ///< from the start of the file
    std::uint64_t length;
  };
  /// Returns the location of object `number` in the collection at `address`. Throws Error: corrupt; io.
  Location find(std::uint64_t address, std::uint32_t number);

 private:
  struct Object {
    std::uint32_t number;
    Location location;
  };
  const std::vector<Object>& collection(std::uint64_t address);

  const Hdf5File& file_;
  std::unordered_map<std::uint64_t, std::vector<Object>> collections_;
};

}  // namespace penstock
