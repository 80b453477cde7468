#include <penstock/points.hpp>
#include <transforms/clouds/steps/point_step.hpp>

namespace penstock {

const StepTable& step::Surface::table() {
  static const TableOf<Surface> table{
      "points.surface", "Draws points uniformly on the triangles of a mesh (OFF).",
      Parameter{"points", &Surface::points, required({.least = 1, .unit = "points"}), "how many"}};
  return table;
}

}  // namespace penstock
