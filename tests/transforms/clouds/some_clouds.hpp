// Clouds made from a seed, for tests and for measuring.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <penstock/random.hpp>
#include <transforms/clouds/samplers/sampler.hpp>

namespace penstock::test {

struct SomeCloud {
  std::string name;
  std::vector<float> x, y, z;

  void add(double px, double py, double pz) {
    x.push_back(static_cast<float>(px));
    y.push_back(static_cast<float>(py));
    z.push_back(static_cast<float>(pz));
  }
  PointColumns columns() const { return {x.data(), y.data(), z.data(), x.size()}; }
};

inline SomeCloud cube(std::size_t points, std::uint64_t seed) {
  Random random(seed, 0, 0, 0);
  SomeCloud cloud{"cube", {}, {}, {}};
  for (std::size_t i = 0; i < points; ++i) cloud.add(random.uniform(), random.uniform(), random.uniform());
  return cloud;
}

/// A forest plot of 50 m: half the points on hilly ground, a fifth on stems, the rest in crowns; far more of them near
/// the scanner in the middle. Stored in the order of its sweep.
inline SomeCloud forest(std::size_t points, std::uint64_t seed) {
  Random random(seed, 0, 0, 0);
  constexpr double kTau = 6.283185307179586;
  const auto ground = [](double x, double y) { return 2 * std::sin(x / 9) + 1.5 * std::cos(y / 7); };
  struct Tree {
    double x, y, radius, height;
  };
  std::vector<Tree> trees;
  for (int i = 0; i < 90; ++i)
    trees.push_back(
        {random.uniform(-25, 25), random.uniform(-25, 25), random.uniform(0.1, 0.4), random.uniform(8, 28)});
  SomeCloud cloud{"forest", {}, {}, {}};
  for (std::size_t i = 0; i < points; ++i) {
    const double turn = kTau * static_cast<double>(i) / static_cast<double>(points), kind = random.uniform();
    const Tree& tree = trees[random.below(trees.size())];
    if (kind < 0.5) {
      const double range = 25 * std::pow(random.uniform(), 2), x = range * std::cos(turn), y = range * std::sin(turn);
      cloud.add(x, y, ground(x, y) + random.uniform(-0.03, 0.03));
    } else if (kind < 0.7) {
      const double angle = random.uniform(0, kTau), up = std::pow(random.uniform(), 1.5) * tree.height;
      const double x = tree.x + tree.radius * std::cos(angle), y = tree.y + tree.radius * std::sin(angle);
      cloud.add(x, y, ground(tree.x, tree.y) + up);
    } else {
      const double range = std::sqrt(random.uniform()) * tree.radius * 8, angle = random.uniform(0, kTau);
      cloud.add(tree.x + range * std::cos(angle), tree.y + range * std::sin(angle),
                ground(tree.x, tree.y) + tree.height * random.uniform(0.5, 1.1));
    }
  }
  return cloud;
}

/// Clouds that a search structure could stumble over, of about `points` points.
inline std::vector<SomeCloud> odd_clouds(std::size_t points, std::uint64_t seed) {
  Random random(seed, 1, 0, 0);
  std::vector<SomeCloud> clouds = {
      {"one point", {}, {}, {}},      {"all equal", {}, {}, {}}, {"on a line", {}, {}, {}},
      {"mostly doubled", {}, {}, {}}, {"a lattice", {}, {}, {}}, {"clusters of all sizes", {}, {}, {}},
      {"overflowing", {}, {}, {}},    {"subnormal", {}, {}, {}}, {"two far points", {}, {}, {}}};
  clouds[0].add(1, 2, 3);
  for (std::size_t i = 0; i < points; ++i) {
    const auto whole = [&](std::uint64_t below) { return static_cast<double>(random.below(below)); };
    clouds[1].add(-3, 0.5, 7);
    const double along = random.uniform();
    clouds[2].add(3 * along, -along, 100 + 5 * along);
    clouds[3].add(whole(4), whole(4), whole(4));
    clouds[4].add(whole(40), whole(40), whole(3));
    const double size = std::pow(10.0, -whole(7));
    clouds[5].add(size + size * random.uniform(), size * random.uniform(), size * random.uniform());
    clouds[6].add(random.uniform(-3.4e38, 3.4e38), random.uniform(-3.4e38, 3.4e38), random.uniform(-1, 1));
    clouds[7].add(1.4e-45 * whole(50), 1.4e-45 * whole(50), 1.4e-45 * whole(50));
    clouds[8].add(i == points / 2 ? 1e9 : random.uniform(), i == points / 3 ? -1e9 : random.uniform(),
                  random.uniform());
  }
  return clouds;
}

}  // namespace penstock::test
