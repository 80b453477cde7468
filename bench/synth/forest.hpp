// Generates forests for a laser scan: terrain, trees of several species, shrubs.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <penstock/random.hpp>

namespace penstock {

/// How a crown's radius goes with height, from its base to its top.
enum class CrownShape : std::uint8_t { cone, ellipsoid, column, umbrella, vase, whorls };
constexpr std::uint32_t kCrownShapes = 6;

struct Species {
  CrownShape shape = CrownShape::ellipsoid;
  double crown_base = 0.3;     ///< height of the lowest branches, as a share of the tree's
  double crown_radius = 0.2;   ///< widest, as a share of the tree's height
  double density = 0.8;        ///< leaves that a beam meets per metre
  double reflectance = 0.5;    ///< of the leaves, to the laser
  std::array<double, 3> leaf;  ///< their colour, 0 to 1
};

/// Species number `label` of `classes`. Crown shapes take turns; a later turn is wider and begins its crown higher.
Species species_of(std::uint32_t label, std::uint32_t classes);

struct Tree {
  Species species;
  double x, y, ground;          ///< foot, in metres of the site
  double height;                ///< above the ground
  double trunk;                 ///< radius of the trunk at its foot; 0: a shrub
  std::array<double, 4> lobes;  ///< crowns are not round: weights of the cosines and sines of two and three lobes

  double crown_radius() const { return species.crown_radius * height * 1.3; }  ///< no leaf is farther from the axis
  /// Distance of (dx, dy) from the axis, as a share of the crown's radius there, `above` metres above the ground; 1 or
  /// more outside of the crown.
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
  double cut;   ///< a single tree: nothing farther from the middle is kept; else 0

  /// One tree in the middle, with the ground around it.
  static Forest single_tree(std::uint32_t label, std::uint32_t classes, Random& random);
  /// A stand in which most trees are of species `label`, the others of any.
  static Forest stand(std::uint32_t label, std::uint32_t classes, double edge, Random& random);
};

}  // namespace penstock
