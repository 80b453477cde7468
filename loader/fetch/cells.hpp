// Cells: what a loader with windows fills one by one, each sample of a batch with all the places that it has in it.
#pragma once

#include <cstdint>
#include <span>

#include <loader/batch/batch_builder.hpp>
#include <order/windows/windows.hpp>
#include <penstock/dataset.hpp>
#include <transforms/output.hpp>

namespace penstock {

/// Makes the cells of a batch whose rows are named, and writes their values of window_valid().
/// A sample in several rows, or in several windows, is one cell, so that its bytes are read once. There are two
/// exceptions. A cell fills at most one row of the outputs without a window. If random draws decide which bytes a
/// window needs, each place in it is a cell.
void plan_cells(BatchBuilder& builder, std::span<const Output> outputs, const Windows& windows, const Dataset& dataset);

/// The same for one row alone, whose sample has changed: one cell for each place.
void plan_row(BatchBuilder& builder, std::uint32_t row, std::span<const Output> outputs, const Windows& windows,
              const Dataset& dataset, std::vector<Cell>& cells, std::vector<CellPlace>& places);

/// What draws and messages go by at a place: the row's draws, the cell's name.
SampleContext context_of_place(const BatchBuilder& builder, const Cell& cell, const CellPlace& place);
/// That of the place by which the cell's reads are planned.
SampleContext context_of_cell(const BatchBuilder& builder, std::uint32_t number);

}  // namespace penstock
