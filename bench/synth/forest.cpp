#include <algorithm>
#include <cmath>
#include <numbers>

#include <bench/synth/forest.hpp>

namespace penstock {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;
constexpr double kSpacing = 5.0;           // metres between neighbouring trees of a stand, before jitter
constexpr double kOwnSpecies = 0.75;       // share of a stand's trees that have its species
constexpr double kShrubsPerSquare = 0.02;  // per square metre

// Crown radius as a share of the widest, at share t of the crown's height.
double profile(CrownShape shape, double t) {
  const double t2 = t * t, t6 = t2 * t2 * t2;
  switch (shape) {
    case CrownShape::cone:
      return 1 - t;
    case CrownShape::ellipsoid:
      return 2 * std::sqrt(t - t2);
    case CrownShape::column:
      return (0.7 + 0.3 * std::min(1.0, 4 * t)) * std::sqrt(1 - t6);
    case CrownShape::umbrella:
      return std::sqrt(1 - t2);
    case CrownShape::vase:
      return (0.2 + 0.8 * t) * std::sqrt(1 - t6 * t2);
    case CrownShape::whorls:
      break;
  }
  return (1 - 0.85 * t) * (0.45 + 0.55 * std::abs(2 * (6 * t - std::floor(6 * t)) - 1));
}

Tree tree_of(const Species& species, double x, double y, double height, const Terrain& terrain, Random& random) {
  Tree tree{.species = species,
            .x = x,
            .y = y,
            .ground = terrain.at(x, y),
            .height = height,
            .trunk = height * random.uniform(0.009, 0.014),
            .lobes = {}};
  for (double& lobe : tree.lobes) lobe = random.uniform(-0.09, 0.09);
  tree.species.crown_radius *= random.uniform(0.9, 1.1);
  tree.species.crown_base *= random.uniform(0.85, 1.15);
  return tree;
}

Tree shrub_at(double x, double y, const Terrain& terrain, Random& random) {
  const Species shrub{.crown_base = 0.05,
                      .crown_radius = random.uniform(0.3, 0.6),
                      .density = 1.5,
                      .reflectance = 0.4,
                      .leaf = {0.30, 0.42, 0.18}};
  Tree tree = tree_of(shrub, x, y, random.uniform(0.8, 3.5), terrain, random);
  tree.trunk = 0;
  return tree;
}

}  // namespace

Species species_of(std::uint32_t label, std::uint32_t classes) {
  // In the order of CrownShape.
  static constexpr std::array<Species, kCrownShapes> kSpecies{{
      {CrownShape::cone, 0.08, 0.15, 1.1, 0.42, {0.13, 0.26, 0.14}},
      {CrownShape::ellipsoid, 0.32, 0.21, 0.8, 0.60, {0.27, 0.42, 0.13}},
      {CrownShape::column, 0.06, 0.075, 1.2, 0.55, {0.30, 0.44, 0.20}},
      {CrownShape::umbrella, 0.66, 0.19, 0.9, 0.45, {0.20, 0.32, 0.20}},
      {CrownShape::vase, 0.28, 0.24, 0.7, 0.58, {0.33, 0.45, 0.16}},
      {CrownShape::whorls, 0.05, 0.20, 1.4, 0.40, {0.12, 0.28, 0.22}},
  }};
  const std::uint32_t turns = (classes + kCrownShapes - 1) / kCrownShapes;
  const double later = static_cast<double>(label / kCrownShapes) / turns;
  Species species = kSpecies[label % kCrownShapes];
  species.crown_radius *= 1 + 1.2 * later;
  species.crown_base += (0.75 - species.crown_base) * 0.6 * later;
  for (double& channel : species.leaf) channel *= 1 + 0.4 * later;
  return species;
}

double Tree::crown_share(double above, double dx, double dy) const {
  const double base = species.crown_base * height;
  const double share = (above - base) / (height - base);
  if (share < 0 || share >= 1) return 1;
  const double radius = species.crown_radius * height * profile(species.shape, share);
  const double squared = dx * dx + dy * dy;
  if (squared >= 1.69 * radius * radius) return 1;
  const double distance = std::sqrt(squared) + 1e-9, cosine = dx / distance, sine = dy / distance;
  // of the double angle
  const double cosine2 = cosine * cosine - sine * sine, sine2 = 2 * cosine * sine;
  // of the triple angle
  const double cosine3 = cosine2 * cosine - sine2 * sine, sine3 = sine2 * cosine + cosine2 * sine;
  return distance / (radius * (1 + lobes[0] * cosine2 + lobes[1] * sine2 + lobes[2] * cosine3 + lobes[3] * sine3));
}

Terrain Terrain::make(Random& random) {
  Terrain terrain{.base = random.uniform(150, 600),
                  .slope_x = random.uniform(-0.15, 0.15),
                  .slope_y = random.uniform(-0.15, 0.15),
                  .waves = {}};
  double length = 140;
  for (Wave& wave : terrain.waves) {
    const double angle = random.uniform(0, kTurn), k = kTurn / length;
    wave = {length * random.uniform(0.004, 0.014), k * std::cos(angle), k * std::sin(angle), random.uniform(0, kTurn)};
    length *= 0.45;
  }
  return terrain;
}

double Terrain::at(double x, double y) const {
  double height = base + slope_x * x + slope_y * y;
  for (const Wave& wave : waves) height += wave.amplitude * std::sin(wave.kx * x + wave.ky * y + wave.phase);
  return height;
}

Forest Forest::single_tree(std::uint32_t label, std::uint32_t classes, Random& random) {
  Forest forest{.terrain = Terrain::make(random), .trees = {}, .half = 0, .cut = 0};
  const double height = random.uniform(12, 28);
  forest.trees.push_back(tree_of(species_of(label, classes), 0, 0, height, forest.terrain, random));
  forest.cut = forest.trees[0].crown_radius() + 1;
  forest.half = forest.cut;
  return forest;
}

Forest Forest::stand(std::uint32_t label, std::uint32_t classes, double edge, Random& random) {
  Forest forest{.terrain = Terrain::make(random), .trees = {}, .half = edge / 2, .cut = 0};
  const double stand_height = random.uniform(16, 26);
  for (double y = -forest.half + kSpacing / 2; y < forest.half; y += kSpacing) {
    for (double x = -forest.half + kSpacing / 2; x < forest.half; x += kSpacing) {
      const double here_x = x + random.uniform(-0.4, 0.4) * kSpacing, here_y = y + random.uniform(-0.4, 0.4) * kSpacing;
      if (random.uniform() < 0.15) continue;  // gaps
      const bool own = random.uniform() < kOwnSpecies;
      const auto other = static_cast<std::uint32_t>(random.below(classes));
      const double height = stand_height * random.uniform(0.6, 1.15);
      forest.trees.push_back(
          tree_of(species_of(own ? label : other, classes), here_x, here_y, height, forest.terrain, random));
    }
  }
  const auto shrubs = static_cast<std::size_t>(kShrubsPerSquare * edge * edge);
  for (std::size_t i = 0; i < shrubs; ++i) {
    const double x = random.uniform(-forest.half, forest.half), y = random.uniform(-forest.half, forest.half);
    forest.trees.push_back(shrub_at(x, y, forest.terrain, random));
  }
  return forest;
}

}  // namespace penstock
