// Samples one point from each occupied cell of a grid.
#pragma once

#include <penstock/points.hpp>
#include <transforms/clouds/samplers/sampler.hpp>

namespace penstock {

/// Uses the cells of PointCells. Numbers ascend. The first point of a cell represents its centroid. Additionally drawn
/// points are entries without a cell.
std::unique_ptr<PointSampler> voxel_sampler(const SampleOptions& options);

/// Sets out[i] to the mean of `column` over the points of entry i's cell, summed in float64 in stored order. Entries
/// without a cell get their point's value. Requires a `chosen` with cells. `column` has chosen.cells.size() values,
/// `out` chosen.numbers.size().
void average_cells(const ChosenPoints& chosen, const float* column, float* out);

}  // namespace penstock
