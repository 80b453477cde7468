#include <cstring>

#include <penstock/loader/work/row_slots.hpp>

namespace penstock {

void RowSlots::of(BatchBuilder& builder, std::span<const Output> outputs, std::uint32_t row) {
  places.assign(outputs.size(), {});
  verbatim.assign(outputs.size(), {});
  buffered.assign(outputs.size(), nullptr);
  direct.assign(outputs.size(), nullptr);
  jpeg.assign(outputs.size(), nullptr);
  for (std::uint32_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].ragged) {
      places[i] = builder.slab().row(i, row);
      direct[i] = builder.slab().direct_row(i, row);
      jpeg[i] = builder.slab().jpeg_row(i, row);
    } else if (builder.buffered[i] != 0) {
      buffered[i] = &builder.slab().ragged(i).buffered[row];
      continue;
    } else {
      places[i] = builder.slab().ragged_row(i, row);
    }
    if (outputs[i].verbatim) verbatim[i] = places[i];
  }
}

void RowSlots::clear_row() {
  for (const std::span<std::byte> place : places) {
    if (!place.empty()) std::memset(place.data(), 0, place.size());
  }
  for (std::vector<std::byte>* row : buffered) {
    if (row != nullptr) row->clear();
  }
  for (Extent* row : direct) {
    if (row != nullptr) *row = {};
  }
  for (JpegRow* row : jpeg) {
    if (row != nullptr) row->bytes.clear();
  }
}

}  // namespace penstock
