// Generates forests for a laser scan: terrain, trees of several species, shrubs.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <penstock/random.hpp>

namespace penstock {

/// Shape of a crown: its radius over height, from base to top.
enum class CrownShape : std::uint8_t { cone, ellipsoid, column, umbrella, vase, whorls };
constexpr std::uint32_t kCrownShapes = 6;

struct Species {
  CrownShape shape = CrownShape::ellipsoid;
  double crown_base = 0.3;     ///< height of the lowest branches, as a share of the tree's height
  double crown_radius = 0.2;   ///< widest, as a share of the tree's height
  double density = 0.8;        ///< leaves per metre that a beam meets
  double reflectance = 0.5;    ///< reflectance of the leaves for the laser
  std::array<double, 3> leaf;  ///< colour of the leaves, 0 to 1
};

/// Species number `label` of `classes`. Labels cycle through the crown shapes. Each cycle has wider crowns that begin
/// higher.
Species species_of(std::uint32_t label, std::uint32_t classes);

struct Tree {
  Species species;
  double x, y, ground;          ///< foot, in metres of the site
  double height;                ///< above the ground
  double trunk;                 ///< radius of the trunk at its foot; 0: a shrub
  std::array<double, 4> lobes;  ///< non-round crowns: weights of the cosines and sines of two and three lobes

  double crown_radius() const { return species.crown_radius * height * 1.3; }  ///< no leaf is farther from the axis
  /// Distance of (dx, dy) from the axis, as a share of the crown's radius at `above` metres above the ground. At least
  /// 1 outside the crown.
  double crown_share(double above, double dx, double dy) const;
};

/// Smooth relief: a slope and waves.
struct Terrain {
  double base, slope_x, slope_y;
  struct Wave {
    double amplitude, kx, ky, phase;
  };
  std::array<Wave, 4> waves;

  static Terrain make(Random& random);
  double at(double x, double y) const;
};

struct Forest {
  Terrain terrain;
  std::vector<Tree> trees;
  double half;  ///< the site is [-half, half) in x and y, metres
  double cut;   ///< for a single tree: maximum distance from the middle; else 0

  /// One tree in the middle, and the ground around it.
  static Forest single_tree(std::uint32_t label, std::uint32_t classes, Random& random);
  /// A stand in which most trees have species `label`, the others any species.
  static Forest stand(std::uint32_t label, std::uint32_t classes, double edge, Random& random);
};

}  // namespace penstock
