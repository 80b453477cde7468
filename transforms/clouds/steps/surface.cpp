#include <penstock/transforms/clouds/steps/point_step.hpp>
#include <penstock/transforms/clouds/steps/surface.hpp>

namespace penstock {

const StepTable& step::Surface::table() {
  static const TableOf<Surface> table{
      "points.surface", "Uniform on the triangles of a mesh (OFF).",
      Parameter{"points", &Surface::points, required({.least = 1, .unit = "points"}), "how many"}};
  return table;
}

}  // namespace penstock
