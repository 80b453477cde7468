// A row of images that is left to the device: the JPEG, and how its pixels are resampled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <penstock/device/jpeg_decoder.hpp>
#include <penstock/transforms/image/kernels/resample_tables.hpp>

namespace penstock {

struct JpegRow {
  std::vector<std::byte> bytes;  ///< as its worker leaves it; empty: the row is in its slot
  JpegSize size{};
  ResampleTables tables;

  // Once the batch is sealed, in memory of the slab's:
  std::span<const std::byte> in_slab = {};  ///< the JPEG; empty: the row is in its slot
  std::uint64_t tables_at = 0;              ///< where its tables begin among those of the batch, in bytes
};

}  // namespace penstock
