// Tells where a row's outputs are written: its slots in a slab, or buffers where its length is not known yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <loader/batch/batch_builder.hpp>
#include <transforms/output.hpp>

namespace penstock {

/// The slots of one row, by output: a place of known size, or (ragged, buffered) a buffer that takes what comes.
struct RowSlots {
  std::vector<std::span<std::byte>> places;       ///< empty where buffered
  std::vector<std::vector<std::byte>*> buffered;  ///< null where there is a place
  std::vector<std::span<std::byte>> verbatim;     ///< places of the outputs whose bytes need no work, else empty
  std::vector<std::span<std::int64_t>> shapes =
      {};  ///< of rows with sizes of their own: these sizes; else empty. All may be left out
  std::vector<const RowPadding*> padding = {};  ///< of rows of one length: what fills them up; null: zeros
  Offload* offload = nullptr;                   ///< what a device takes over of the slab's rows; null: nothing
  std::uint32_t row = 0;                        ///< in the slab
  std::vector<std::uint8_t> left_out = {};      ///< by output, 1 where it is not filled now; empty: all are
  /// The slots of row `number` of a builder's slab.
  void of(BatchBuilder& builder, std::span<const Output> outputs, std::uint32_t number);
  /// Those of a cell: of each window (and of the row's own outputs) that it has places in, those of the first one.
  void of_places(BatchBuilder& builder, std::span<const Output> outputs, std::span<const CellPlace> places);
  bool leaves_out(std::uint32_t output) const { return !left_out.empty() && left_out[output] != 0; }
  void clear_row();  ///< zeros (or padding) in every place, nothing buffered or left to a device: a row marked bad
};

}  // namespace penstock
