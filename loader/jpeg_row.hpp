// A row of images that is left to the device: the JPEG, and what becomes of its pixels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <penstock/device/jpeg_decoder.hpp>
#include <penstock/transforms/resample_tables.hpp>

namespace penstock {

struct JpegRow {
  std::vector<std::byte> bytes;  ///< empty: the row is in its slot
  JpegSize size{};
  ResampleTables tables;
  std::uint64_t tables_at = 0;  ///< where they begin among those of the batch, in bytes; set when it is sealed
};

}  // namespace penstock
