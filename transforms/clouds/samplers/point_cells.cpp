#include <cmath>
#include <string>

#include <penstock/error.hpp>
#include <transforms/clouds/samplers/point_cells.hpp>

namespace penstock {
namespace {

// Source: Stafford's variant 13 of the finalizer of MurmurHash3.
std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

std::uint64_t cells_along(double extent, double edge) {
  const double cells = std::floor(extent / edge) + 1;
  if (!(cells <= 0x1p32))
    throw Error::unsupported("the cloud is " + std::to_string(extent) + " wide: more than 2^32 cells of " +
                             std::to_string(edge));
  return static_cast<std::uint64_t>(cells);
}

}  // namespace

void PointCells::build(const PointColumns& cloud, const PointBounds& bounds, double edge) {
  double all = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    low_[axis] = static_cast<double>(bounds.low[axis]);
    cells_[axis] = cells_along(bounds.edge(axis), edge);
    all *= static_cast<double>(cells_[axis]);
  }
  if (all > 0x1p63) throw Error::unsupported("the cloud's grid has more than 2^63 cells of " + std::to_string(edge));
  edge_ = edge;
  places_.clear();
  first_.clear();
  count_.clear();
  slots_.assign(1024, {0, kNone});
  cell_of_.resize(cloud.count);
  for (std::size_t point = 0; point < cloud.count; ++point) {
    const std::uint64_t place = cell_number(cloud, point);
    const bool as_before = point > 0 && places_[cell_of_[point - 1]] == place;
    cell_of_[point] = as_before ? cell_of_[point - 1] : cell_at(place, point);
    ++count_[cell_of_[point]];
  }
}

std::uint64_t PointCells::cell_number(const PointColumns& cloud, std::size_t point) const {
  // The result is below cells_[axis], because no point is above the bounds.
  const auto along = [&](float value, std::size_t axis) {
    return static_cast<std::uint64_t>((static_cast<double>(value) - low_[axis]) / edge_);
  };
  return along(cloud.x[point], 0) + cells_[0] * (along(cloud.y[point], 1) + cells_[1] * along(cloud.z[point], 2));
}

std::size_t PointCells::slot_of(std::uint64_t place) const {
  std::size_t slot = mix(place) & (slots_.size() - 1);
  while (slots_[slot].cell != kNone && slots_[slot].place != place) slot = (slot + 1) & (slots_.size() - 1);
  return slot;
}

std::uint32_t PointCells::cell_at(std::uint64_t place, std::size_t point) {
  Slot& slot = slots_[slot_of(place)];
  if (slot.cell != kNone) return slot.cell;
  const auto cell = static_cast<std::uint32_t>(places_.size());
  slot = {place, cell};
  places_.push_back(place);
  first_.push_back(static_cast<std::uint32_t>(point));
  count_.push_back(0);
  if (places_.size() * 2 > slots_.size()) grow();
  return cell;
}

void PointCells::grow() {
  slots_.assign(slots_.size() * 2, {0, kNone});
  for (std::size_t cell = 0; cell < places_.size(); ++cell)
    slots_[slot_of(places_[cell])] = {places_[cell], static_cast<std::uint32_t>(cell)};
}

std::array<std::uint32_t, 27> PointCells::around(std::uint32_t cell) const {
  const std::uint64_t place = places_[cell];
  const std::array<std::uint64_t, 3> at = {place % cells_[0], place / cells_[0] % cells_[1],
                                           place / cells_[0] / cells_[1]};
  std::array<std::uint32_t, 27> cells;
  cells.fill(kNone);
  cells[0] = cell;
  std::size_t found = 1;
  const auto inside = [&](std::size_t axis, int step) {
    return step < 0 ? at[axis] > 0 : step == 0 || at[axis] + 1 < cells_[axis];
  };
  for (int k = -1; k <= 1; ++k)
    for (int j = -1; j <= 1; ++j)
      for (int i = -1; i <= 1; ++i) {
        if ((i == 0 && j == 0 && k == 0) || !inside(0, i) || !inside(1, j) || !inside(2, k)) continue;
        const auto moved = [&](std::size_t axis, int step) { return at[axis] + static_cast<std::uint64_t>(step); };
        const Slot& slot = slots_[slot_of(moved(0, i) + cells_[0] * (moved(1, j) + cells_[1] * moved(2, k)))];
        if (slot.cell != kNone) cells[found++] = slot.cell;
      }
  return cells;
}

}  // namespace penstock
