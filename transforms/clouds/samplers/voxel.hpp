// Samples one point from each occupied cell of a grid.
#pragma once

#include <penstock/points.hpp>
#include <transforms/clouds/samplers/sampler.hpp>

namespace penstock {

/// Cells as in PointCells; numbers rise. For a centroid stands the first point of its cell; points that had to be drawn
/// beside the cells' are the entries that no cell leads to.
std::unique_ptr<PointSampler> voxel_sampler(const SampleOptions& options);

/// out[i] = the mean of `column` over the points of entry i's cell, summed in float64 in stored order; of an entry
/// without a cell, its point's own value. For `chosen` with cells; `column` has chosen.cells.size() values, `out`
/// chosen.numbers.size().
void average_cells(const ChosenPoints& chosen, const float* column, float* out);

}  // namespace penstock
