#include <algorithm>
#include <cstring>

#include <loader/batch/row_slots.hpp>

namespace penstock {

void RowSlots::of(BatchBuilder& builder, std::span<const Output> outputs, std::uint32_t number) {
  row = number;
  offload = builder.slab().offload();
  left_out.clear();
  places.assign(outputs.size(), {});
  verbatim.assign(outputs.size(), {});
  buffered.assign(outputs.size(), nullptr);
  shapes.assign(outputs.size(), {});
  padding.assign(outputs.size(), nullptr);
  present.assign(outputs.size(), nullptr);
  for (PresentRows& marks : builder.slab().present) present[marks.output] = &marks.rows[row];
  for (std::uint32_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].ragged) {
      places[i] = builder.slab().row(i, row);
      if (outputs[i].padding) padding[i] = &*outputs[i].padding;
    } else if (builder.buffered[i] != 0) {
      RaggedColumn& column = builder.slab().ragged(i);
      const std::size_t sizes = outputs[i].own_dimensions;
      buffered[i] = &column.buffered[row];
      if (sizes != 0) shapes[i] = {column.shapes.data() + row * sizes, sizes};
      continue;
    } else {
      places[i] = builder.slab().ragged_row(i, row);
    }
    if (outputs[i].verbatim) verbatim[i] = places[i];
  }
}

void RowSlots::of_places(BatchBuilder& builder, std::span<const Output> outputs, std::span<const CellPlace> of) {
  const auto own = std::ranges::find(of, 0U, &CellPlace::window);
  this->of(builder, outputs, own != of.end() ? own->row : of.front().row);
  if (own == of.end()) offload = nullptr;
  left_out.assign(outputs.size(), 0);
  for (std::uint32_t i = 0; i < outputs.size(); ++i) {
    const auto place = std::ranges::find(of, outputs[i].window, &CellPlace::window);
    left_out[i] = place == of.end() || outputs[i].inside ? 1 : 0;
    if (left_out[i] != 0) {
      places[i] = verbatim[i] = {};
      buffered[i] = nullptr;
      shapes[i] = {};
    } else if (outputs[i].window != 0) {
      const std::size_t bytes = outputs[i].step_bytes();
      places[i] = builder.slab().row(i, place->row).subspan(place->step * bytes, bytes);
      if (outputs[i].verbatim) verbatim[i] = places[i];
    }
  }
}

void RowSlots::clear_row() {
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (!places[i].empty()) std::memset(places[i].data(), 0, places[i].size());
    if (padding[i] != nullptr) padding[i]->element.fill(places[i]);
  }
  for (const std::span<std::int64_t> sizes : shapes) std::ranges::fill(sizes, 0);
  for (std::vector<std::byte>* buffer : buffered) {
    if (buffer != nullptr) buffer->clear();
  }
  for (std::uint32_t output = 0; output < present.size(); ++output) mark_present(output, false);
  if (offload != nullptr) offload->clear_row(row);
}

}  // namespace penstock
