#include <cmath>

#include <base/numbers/portable_math.hpp>
#include <transforms/normal_draws.hpp>

namespace penstock {

std::pair<double, double> draw_normals(Random& random) {
  for (;;) {
    const double u = random.uniform(-1, 1), v = random.uniform(-1, 1), square = u * u + v * v;
    if (square <= 0 || square > 1) continue;
    const double factor = std::sqrt(-2 * portable::quick_log(square) / square);
    return {u * factor, v * factor};
  }
}

}  // namespace penstock
