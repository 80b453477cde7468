// Cells: the units that a loader with windows fills. A cell is a sample of a batch with all its places in the batch.
#pragma once

#include <cstdint>
#include <span>

#include <loader/batch/batch_builder.hpp>
#include <order/windows/windows.hpp>
#include <penstock/dataset.hpp>
#include <transforms/output.hpp>

namespace penstock {

/// Makes the cells of a batch whose rows are named, and writes their values of window_valid(). A sample in several
/// rows, or in several windows, is one cell, so that its bytes are read once. There are two exceptions. A cell fills
/// at most one row of the outputs without a window. If random draws decide which bytes a window needs, each place in
/// it is a cell.
void plan_cells(BatchBuilder& builder, std::span<const Output> outputs, const Windows& windows, const Dataset& dataset);

/// Makes the cells of one row whose sample has changed: one cell for each place.
void plan_row(BatchBuilder& builder, std::uint32_t row, std::span<const Output> outputs, const Windows& windows,
              const Dataset& dataset, std::vector<Cell>& cells, std::vector<CellPlace>& places);

/// Returns the context for random draws and messages at a place: the draws are those of the row, the name is that of
/// the cell.
SampleContext context_of_place(const BatchBuilder& builder, const Cell& cell, const CellPlace& place);
/// Returns the context of the place that plans the cell's reads.
SampleContext context_of_cell(const BatchBuilder& builder, std::uint32_t number);

}  // namespace penstock
