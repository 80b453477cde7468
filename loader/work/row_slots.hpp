// Tells where a row's outputs are written: its slots in a slab, or buffers where its length is not known yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <penstock/loader/batch/batch_builder.hpp>
#include <penstock/transforms/program/output.hpp>

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
  /// The slots of row `number` of a builder's slab.
  void of(BatchBuilder& builder, std::span<const Output> outputs, std::uint32_t number);
  void clear_row();  ///< zeros (or padding) in every place, nothing buffered or left to a device: a row marked bad
};

}  // namespace penstock
