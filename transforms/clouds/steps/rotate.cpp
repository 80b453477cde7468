#include <array>
#include <cmath>
#include <span>
#include <string_view>

#include <penstock/points.hpp>
#include <transforms/clouds/steps/point_step.hpp>

namespace penstock {
namespace {

using Matrix = std::array<std::array<float, 3>, 3>;

constexpr std::string_view kAbout[] = {"z", "free"};

// Draws a point (first two numbers) uniformly in the unit disc without its centre. The third number is its squared
// radius.
std::array<double, 3> draw_in_disc(Random& random) {
  for (;;) {
    const double u = random.uniform(-1, 1), v = random.uniform(-1, 1), square = u * u + v * v;
    if (square > 0 && square <= 1) return {u, v, square};
  }
}

// The angle of a uniform point of the disc is uniform, and so is twice the angle. Sine and cosine of the double angle
// need only products. Source: von Neumann, "Various techniques used in connection with random digits", 1951.
Matrix rotation_about_z(Random& random) {
  const auto [u, v, square] = draw_in_disc(random);
  const auto cosine = static_cast<float>((u * u - v * v) / square), sine = static_cast<float>(2 * u * v / square);
  return {{{cosine, -sine, 0}, {sine, cosine, 0}, {0, 0, 1}}};
}

// A uniform unit quaternion (w, x, y, z). Source: Marsaglia, "Choosing a point from the surface of a sphere", 1972.
Matrix rotation_of_any_kind(Random& random) {
  const auto [w, x, first] = draw_in_disc(random);
  const auto [u, v, second] = draw_in_disc(random);
  const double length = std::sqrt((1 - first) / second);
  const double y = u * length, z = v * length;
  const auto f = [](double value) { return static_cast<float>(value); };
  return {{{f(1 - 2 * (y * y + z * z)), f(2 * (x * y - w * z)), f(2 * (x * z + w * y))},
           {f(2 * (x * y + w * z)), f(1 - 2 * (x * x + z * z)), f(2 * (y * z - w * x))},
           {f(2 * (x * z - w * y)), f(2 * (y * z + w * x)), f(1 - 2 * (x * x + y * y))}}};
}

void turn(PointBuffer& cloud, std::size_t first, const Matrix& m) {
  float *x = cloud.column(first), *y = cloud.column(first + 1), *z = cloud.column(first + 2);
  for (std::size_t i = 0; i < cloud.rows(); ++i) {
    const float a = x[i], b = y[i], c = z[i];
    x[i] = (m[0][0] * a + m[0][1] * b) + m[0][2] * c;
    y[i] = (m[1][0] * a + m[1][1] * b) + m[1][2] * c;
    z[i] = (m[2][0] * a + m[2][1] * b) + m[2][2] * c;
  }
}

}  // namespace

namespace step {

static std::span<const std::string_view> choices(RandomRotate::About) {
  return kAbout;
}

}  // namespace step

const StepTable& step::RandomRotate::table() {
  static const PointTable<RandomRotate> table{
      "points.random_rotate",
      "Rotates by a random angle about \"z\", or uniformly in 3D (\"free\"). Attributes nx, ny, nz next to each other "
      "are rotated too.",
      Parameter{
          "about", &RandomRotate::about, {.refusal = "about must be \"z\" or \"free\", not"}, "axis of the rotation"}};
  return table;
}

void step::RandomRotate::apply(PointBuffer& cloud, Random& random) const {
  const Matrix matrix = about == About::free ? rotation_of_any_kind(random) : rotation_about_z(random);
  turn(cloud, 0, matrix);
  if (cloud.normals() != 0) turn(cloud, cloud.normals(), matrix);
}

Chain points::random_rotate(const std::string& about) {
  step::RandomRotate rotate;
  choose(rotate, "about", about);
  return one_step(rotate);
}

}  // namespace penstock
