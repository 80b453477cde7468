// Groups the points of a cloud by the cells of a cubic grid.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include <transforms/clouds/samplers/point_bounds.hpp>
#include <transforms/clouds/samplers/sampler.hpp>

namespace penstock {

/// The occupied cells of a grid that begins at the lower corner of the bounds, numbered by their first points:
///
///   cell (i, j, k) of a point = floor((coordinate - low) / edge), each computed in float64
class PointCells {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  /// Throws Error: unsupported, if an axis has more than 2^32 cells or the grid more than 2^63.
  void build(const PointColumns& cloud, const PointBounds& bounds, double edge);

  std::size_t size() const { return places_.size(); }
  std::span<const std::uint32_t> cell_of() const { return cell_of_; }  ///< the cell of each point
  std::span<const std::uint32_t> first() const { return first_; }      ///< the first point of each cell
  std::span<const std::uint32_t> count() const { return count_; }      ///< the number of points of each cell

  /// Returns this cell and its occupied neighbours. Remaining entries are kNone.
  std::array<std::uint32_t, 27> around(std::uint32_t cell) const;

 private:
  struct Slot {
    std::uint64_t place;
    std::uint32_t cell;
  };

  std::uint64_t cell_number(const PointColumns& cloud, std::size_t point) const;
  std::size_t slot_of(std::uint64_t place) const;  // slot that holds it, or the free slot for it
  std::uint32_t cell_at(std::uint64_t place, std::size_t point);
  void grow();

  std::array<double, 3> low_{};
  double edge_ = 1;
  std::array<std::uint64_t, 3> cells_{};  // number of grid cells along each axis
  std::vector<Slot> slots_;               // hash table with open addressing, at most half full
  std::vector<std::uint64_t> places_;     // of each cell: i + cells_[0] * (j + cells_[1] * k)
  std::vector<std::uint32_t> cell_of_, first_, count_;
};

}  // namespace penstock
