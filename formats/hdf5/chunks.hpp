// Lists the locations of a dataset's chunks, in one pass over its chunk index.
#pragma once

#include <cstdint>
#include <vector>

#include <formats/hdf5/dataset.hpp>
#include <formats/hdf5/file.hpp>

namespace penstock {

struct Hdf5Chunk {
  std::uint64_t offset = 0;       ///< from the start of the file
  std::uint64_t length = 0;       ///< stored bytes; 0: never written
  std::uint32_t filter_mask = 0;  ///< bit i set: filter i was skipped
};

/// Returns every chunk of the grid that the dataset's current shape needs, in row-major order. `grid` is the number of
/// chunks along each dimension. Lengths come from the file, and locations are inside the file. Throws Error: corrupt;
/// unsupported; io.
std::vector<Hdf5Chunk> read_chunks(const Hdf5File& file, const Hdf5Dataset& dataset,
                                   const std::vector<std::uint64_t>& grid);

}  // namespace penstock
