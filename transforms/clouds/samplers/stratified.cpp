#include <algorithm>
#include <numeric>

#include <transforms/clouds/samplers/point_bounds.hpp>
#include <transforms/clouds/samplers/stratified.hpp>

namespace penstock {
namespace {

class StratifiedSampler : public PointSampler {
 public:
  explicit StratifiedSampler(const SampleOptions& options)
      : points_(static_cast<std::size_t>(options.points)), slices_(static_cast<std::size_t>(options.slices)) {}

  void choose(const PointColumns& cloud, Random& random, ChosenPoints& chosen) override {
    slice(cloud);
    share(std::min(points_, cloud.count), random);
    chosen.cells.clear();
    chosen.numbers.clear();
    for (std::size_t slice = 0; slice < slices_; ++slice) {
      choose_random(end_of(slice) - begin_[slice], shares_[slice], random, drawn_);
      for (const std::uint32_t i : drawn_) chosen.numbers.push_back(sorted_[begin_[slice] + i]);
    }
    std::sort(chosen.numbers.begin(), chosen.numbers.end());
  }

 private:
  std::size_t end_of(std::size_t slice) const { return begin_[slice + 1]; }

  // Sorts the points by slice. Points of a slice keep their stored order.
  void slice(const PointColumns& cloud) {
    const PointBounds bounds = bounds_of(cloud);
    const double low = static_cast<double>(bounds.low[2]), height = bounds.edge(2);
    slice_of_.resize(cloud.count);
    begin_.assign(slices_ + 1, 0);
    for (std::size_t i = 0; i < cloud.count; ++i) {
      const double part = height > 0 ? (static_cast<double>(cloud.z[i]) - low) / height : 0;  // 0 to 1
      const double at = part * static_cast<double>(slices_);
      slice_of_[i] = std::min(static_cast<std::uint64_t>(at), std::uint64_t{slices_ - 1});
      ++begin_[slice_of_[i] + 1];
    }
    std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
    next_ = begin_;
    sorted_.resize(cloud.count);
    for (std::size_t i = 0; i < cloud.count; ++i) sorted_[next_[slice_of_[i]]++] = static_cast<std::uint32_t>(i);
  }

  // Distributes the number of points over the slices. In each round, all slices with points left give equally many,
  // until one of them is empty.
  void share(std::size_t wanted, Random& random) {
    shares_.assign(slices_, 0);
    std::vector<std::size_t> open;
    for (;;) {
      open.clear();
      std::size_t least = ~std::size_t{0};
      for (std::size_t slice = 0; slice < slices_; ++slice) {
        const std::size_t left = end_of(slice) - begin_[slice] - shares_[slice];
        if (left == 0) continue;
        open.push_back(slice);
        least = std::min(least, left);
      }
      if (wanted == 0 || open.empty()) return;
      const std::size_t each = std::min(least, wanted / open.size());
      for (const std::size_t slice : open) shares_[slice] += each;
      wanted -= each * open.size();
      if (each < least) break;
    }
    choose_random(open.size(), wanted, random, drawn_);
    for (const std::uint32_t i : drawn_) ++shares_[open[i]];
  }

  std::size_t points_, slices_;
  std::vector<std::uint64_t> slice_of_;    // of each point
  std::vector<std::size_t> begin_, next_;  // of each slice, in `sorted_`
  std::vector<std::size_t> shares_;        // of each slice: number of points to draw
  std::vector<std::uint32_t> sorted_, drawn_;
};

}  // namespace

std::unique_ptr<PointSampler> stratified_sampler(const SampleOptions& options) {
  return std::make_unique<StratifiedSampler>(options);
}

}  // namespace penstock
