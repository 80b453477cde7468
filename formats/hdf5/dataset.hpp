// Reads the description of a dataset: shape, type, storage and filters. Reads no values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <formats/extent.hpp>
#include <formats/hdf5/datatype.hpp>
#include <formats/hdf5/object.hpp>

namespace penstock {

struct Hdf5Dataset {
  enum class Storage : std::uint8_t { compact, contiguous, chunked };
  enum class ChunkIndex : std::uint8_t { tree1, single, implicit, fixed_array, extensible_array, tree2 };
  static constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};

  Hdf5Type type;
  std::vector<std::uint64_t> dims, most_dims;  ///< current and maximum dimensions; empty: a scalar
  std::vector<std::byte> fill;  ///< one stored element, or a single byte that repeats; zeros if the file has none

  Storage storage = Storage::contiguous;
  std::uint64_t address = kNoAddress;  ///< of the bytes, or of the chunk index; kNoAddress: nothing was written
  std::vector<std::byte> bytes;        ///< of compact storage

  ChunkIndex index = ChunkIndex::tree1;
  std::vector<std::uint64_t> chunk_dims;
  std::uint64_t chunk_bytes = 0;    ///< without filters
  bool plain_edges = false;         ///< chunks that extend over the dataset's edge have no filters
  std::uint64_t single_length = 0;  ///< stored bytes of the single chunk, if it has filters
  std::uint32_t single_mask = 0;
  /// The steps of each filter in the file, in the order of writing. One may have operands, or no step.
  std::vector<std::vector<Filter>> filters;
  std::string cause;  ///< why its bytes are not readable; empty: readable

  std::uint64_t elements() const;  ///< 1 for a scalar
};

/// Throws Error: corrupt; unsupported (the message's versions, null shapes); io.
Hdf5Dataset describe(const Hdf5File& file, const Hdf5Object& object);

/// Returns the dimensions in a dataspace message. Throws Error: corrupt; unsupported (null).
std::vector<std::uint64_t> read_dims(const Hdf5File& file, std::span<const std::byte> message,
                                     std::vector<std::uint64_t>* most = nullptr);

}  // namespace penstock
