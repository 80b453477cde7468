#include <cstring>

#include <penstock/loader/work/row_slots.hpp>

namespace penstock {

void RowSlots::of(BatchBuilder& builder, std::span<const Output> outputs, std::uint32_t number) {
  row = number;
  offload = builder.slab().offload();
  places.assign(outputs.size(), {});
  verbatim.assign(outputs.size(), {});
  buffered.assign(outputs.size(), nullptr);
  for (std::uint32_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].ragged) {
      places[i] = builder.slab().row(i, row);
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
  for (std::vector<std::byte>* buffer : buffered) {
    if (buffer != nullptr) buffer->clear();
  }
  if (offload != nullptr) offload->clear_row(row);
}

}  // namespace penstock
