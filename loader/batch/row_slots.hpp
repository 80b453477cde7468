// Says where to write a row's outputs: into slots of a slab, or into buffers if its length is not known yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <loader/batch/batch_builder.hpp>
#include <transforms/output.hpp>

namespace penstock {

/// The slots of one row, by output: a place of known size, or a growing buffer for ragged rows.
struct RowSlots {
  std::vector<std::span<std::byte>> places;       ///< empty if the output is buffered
  std::vector<std::vector<std::byte>*> buffered;  ///< null if the output has a place
  std::vector<std::span<std::byte>> verbatim;  ///< places of outputs that are stored bytes without decoding; else empty
  /// The row's shape for outputs whose rows have shapes, and empty for others. The list may be empty.
  std::vector<std::span<std::int64_t>> shapes = {};
  std::vector<const RowPadding*> padding = {};  ///< of rows padded to one length: the fill value; null: zeros
  Offload* offload = nullptr;                   ///< takes rows of the slab over for a device; null: none
  std::uint32_t row = 0;                        ///< in the slab
  std::vector<std::uint8_t> left_out = {};      ///< by output: 1 if the output is not filled now; empty: all are filled
  /// Sets the slots of row `number` of a builder's slab.
  void of(BatchBuilder& builder, std::span<const Output> outputs, std::uint32_t number);
  /// Sets the slots of a cell. For each window, and for the row's own outputs, the first of its places counts.
  void of_places(BatchBuilder& builder, std::span<const Output> outputs, std::span<const CellPlace> places);
  /// By output: the row's mark in BatchRecord::present; null if the batch does not mark the output. The list may be
  /// empty.
  std::vector<std::uint8_t*> present = {};
  void mark_present(std::uint32_t output, bool is_present) {
    if (!present.empty() && present[output] != nullptr) *present[output] = is_present ? 1 : 0;
  }
  bool leaves_out(std::uint32_t output) const { return !left_out.empty() && left_out[output] != 0; }
  /// Fills every place with zeros (or padding) and drops buffered and offloaded values: the row is marked invalid.
  void clear_row();
};

}  // namespace penstock
