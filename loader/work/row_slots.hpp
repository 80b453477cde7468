// Tells where a row's outputs are written: its slots in a slab, or buffers where its length is not known yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <penstock/formats/extent.hpp>
#include <penstock/loader/batch/batch_builder.hpp>
#include <penstock/loader/batch/jpeg_row.hpp>
#include <penstock/transforms/program/output.hpp>

namespace penstock {

/// The slots of one row, by output: a place of known size, or (ragged, buffered) a buffer that takes what comes.
struct RowSlots {
  std::vector<std::span<std::byte>> places;       ///< empty where buffered
  std::vector<std::vector<std::byte>*> buffered;  ///< null where there is a place
  std::vector<std::span<std::byte>> verbatim;     ///< places of the outputs whose bytes need no work, else empty
  std::vector<Extent*> direct;  ///< of outputs that a device may read itself: takes where, or nothing; else null
  std::vector<JpegRow*> jpeg;   ///< of outputs that a device may decode: takes the JPEG, or nothing; else null
  /// The slots of row `row` of a builder's slab.
  void of(BatchBuilder& builder, std::span<const Output> outputs, std::uint32_t row);
  void clear_row();  ///< zeros in every place, nothing buffered or left to a device: a row marked bad
};

}  // namespace penstock
