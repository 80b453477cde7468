#include <algorithm>

#include <transforms/clouds/samplers/point_cells.hpp>
#include <transforms/clouds/samplers/random.hpp>
#include <transforms/clouds/samplers/voxel.hpp>

namespace penstock {
namespace {

class VoxelSampler : public PointSampler {
 public:
  explicit VoxelSampler(const SampleOptions& options) : options_(options) {}

  void choose(const PointColumns& cloud, Random& random, ChosenPoints& chosen) override {
    cells_.build(cloud, bounds_of(cloud), options_.size);
    choose_cells(random);
    choose_points(random, chosen.numbers);
    chosen.cells.clear();
    const std::size_t wanted = std::min(static_cast<std::size_t>(options_.points), cloud.count);
    if (options_.voxel == VoxelPoint::centroid) enter_cells(chosen.numbers);
    if (wanted > chosen.numbers.size()) fill_up(cloud.count, wanted - chosen.numbers.size(), random, chosen.numbers);
    if (options_.voxel == VoxelPoint::centroid) lead_points(chosen.cells);
  }

 private:
  // Takes all cells or a uniform sample of them. Cell numbers ascend, and so do the numbers of their first points.
  void choose_cells(Random& random) {
    const auto wanted = static_cast<std::size_t>(options_.points);
    choose_random(cells_.size(), wanted == 0 ? cells_.size() : wanted, random, taken_);
  }

  void choose_points(Random& random, std::vector<std::uint32_t>& numbers) {
    numbers.clear();
    for (const std::uint32_t cell : taken_) numbers.push_back(cells_.first()[cell]);
    if (options_.voxel != VoxelPoint::random) return;
    // For each cell, a drawn index among its points. The index counts down during the pass over the cloud.
    std::vector<std::uint32_t> left(cells_.size(), PointCells::kNone);
    for (const std::uint32_t cell : taken_) left[cell] = static_cast<std::uint32_t>(random.below(cells_.count()[cell]));
    numbers.clear();
    for (std::size_t point = 0; point < cells_.cell_of().size(); ++point) {
      std::uint32_t& until = left[cells_.cell_of()[point]];
      if (until == PointCells::kNone) continue;
      // At 0, the decrement gives kNone, so the cell gives no second point.
      if (until-- == 0) numbers.push_back(static_cast<std::uint32_t>(point));
    }
  }

  void enter_cells(const std::vector<std::uint32_t>& numbers) {
    entry_.assign(cells_.size(), ChosenPoints::kNoCell);
    for (std::size_t i = 0; i < numbers.size(); ++i) entry_[taken_[i]] = static_cast<std::uint32_t>(i);
  }

  // Adjusts the entries of cells, because drawn points with lower numbers now come first.
  void fill_up(std::size_t points, std::size_t missing, Random& random, std::vector<std::uint32_t>& numbers) {
    fill_up_random(points, missing, random, numbers);
    if (options_.voxel != VoxelPoint::centroid) return;
    std::uint32_t at = 0;
    for (const std::uint32_t cell : taken_) {
      while (numbers[at] != cells_.first()[cell]) ++at;
      entry_[cell] = at;
    }
  }

  void lead_points(std::vector<std::uint32_t>& cells) const {
    for (const std::uint32_t cell : cells_.cell_of()) cells.push_back(entry_[cell]);
  }

  SampleOptions options_;
  PointCells cells_;
  std::vector<std::uint32_t> taken_;  // cells
  std::vector<std::uint32_t> entry_;  // for each cell, its index in the chosen numbers
};

}  // namespace

std::unique_ptr<PointSampler> voxel_sampler(const SampleOptions& options) {
  return std::make_unique<VoxelSampler>(options);
}

void average_cells(const ChosenPoints& chosen, const float* column, float* out) {
  std::vector<double> sums(chosen.numbers.size());
  std::vector<std::uint32_t> counts(chosen.numbers.size());
  for (std::size_t point = 0; point < chosen.cells.size(); ++point) {
    const std::uint32_t entry = chosen.cells[point];
    if (entry == ChosenPoints::kNoCell) continue;
    sums[entry] += static_cast<double>(column[point]);
    ++counts[entry];
  }
  for (std::size_t i = 0; i < sums.size(); ++i)
    out[i] = counts[i] == 0 ? column[chosen.numbers[i]] : static_cast<float>(sums[i] / counts[i]);
}

}  // namespace penstock
