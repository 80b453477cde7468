#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include <bench/synth/forest.hpp>
#include <bench/synth/las_writer.hpp>
#include <bench/synth/synth_files.hpp>
#include <penstock/error.hpp>
#include <penstock/random.hpp>

namespace penstock {
namespace {

constexpr std::size_t kMostReturns = 5;
constexpr double kStep = 0.3;         // metres between two tests for leaves along a beam
constexpr double kNextReturn = 0.6;   // metres between two returns that the receiver can separate
constexpr double kNoiseShare = 3e-4;  // share of the pulses
constexpr double kCell = 5.0;         // cell size, in metres, of the grid that finds trees
constexpr double kPulseRate = 300e3;  // per second
constexpr double kLineTurn = 0.5e-3;  // seconds from a scan line to the next
constexpr double kStripTurn = 20;     // seconds from a strip to the next
constexpr std::uint32_t kStrips = 4;

enum class Matter : std::uint8_t { ground, leaf, trunk, noise };

/// The straight path of a pulse: at height z it is at (x + kx * (from - z), y + ky * (from - z)).
struct Beam {
  double x, y, from, kx, ky;
  double x_at(double z) const { return x + kx * (from - z); }
  double y_at(double z) const { return y + ky * (from - z); }
};

struct Hit {
  double z;
  Matter matter;
  const Tree* tree;  // for leaves and trunks
};

struct Strip {
  bool across;         // flown along x instead of y
  bool back;           // against the axis
  double side, above;  // metres of the flight path from the middle, and above the ground
};

/// Trees by the cells of a square grid that their crowns touch.
class TreeGrid {
 public:
  explicit TreeGrid(const Forest& forest)
      : low_(-forest.half - 30), side_(static_cast<std::size_t>((2 * forest.half + 60) / kCell) + 1) {
    cells_.resize(side_ * side_);
    for (std::uint32_t i = 0; i < forest.trees.size(); ++i) {
      const Tree& tree = forest.trees[i];
      const double r = tree.crown_radius();
      each_cell(tree.x - r, tree.y - r, tree.x + r, tree.y + r, [&](std::vector<std::uint32_t>& cell) {
        cell.push_back(i);
        return true;
      });
    }
    seen_.resize(forest.trees.size());
  }

  /// Calls visit(number) once for each tree that the rectangle may touch.
  template <typename Visit>
  void near(double x0, double y0, double x1, double y1, const Visit& visit) {
    ++round_;
    each_cell(std::min(x0, x1), std::min(y0, y1), std::max(x0, x1), std::max(y0, y1),
              [&](const std::vector<std::uint32_t>& cell) {
                for (const std::uint32_t number : cell) {
                  if (seen_[number] != round_) visit(number);
                  seen_[number] = round_;
                }
                return true;
              });
  }

 private:
  std::size_t place(double value) const {
    return static_cast<std::size_t>(std::clamp((value - low_) / kCell, 0.0, static_cast<double>(side_ - 1)));
  }
  template <typename Visit>
  void each_cell(double x0, double y0, double x1, double y1, const Visit& visit) {
    for (std::size_t row = place(y0); row <= place(y1); ++row)
      for (std::size_t column = place(x0); column <= place(x1); ++column) visit(cells_[row * side_ + column]);
  }

  double low_;
  std::size_t side_;
  std::vector<std::vector<std::uint32_t>> cells_;
  std::vector<std::uint64_t> seen_;  // round in which each tree was last visited
  std::uint64_t round_ = 0;
};

/// Interval [low, high] of z in which the beam is closer than `radius` to the tree's axis.
struct Heights {
  double low, high;
};

std::optional<Heights> within(const Beam& beam, const Tree& tree, double radius) {
  const double dx = beam.x - tree.x, dy = beam.y - tree.y;
  const double a = beam.kx * beam.kx + beam.ky * beam.ky, b = dx * beam.kx + dy * beam.ky;
  const double c = dx * dx + dy * dy - radius * radius;
  if (a < 1e-12) return c < 0 ? std::optional(Heights{-1e9, 1e9}) : std::nullopt;
  const double root = b * b - a * c;
  if (root <= 0) return std::nullopt;
  const double width = std::sqrt(root) / a, middle = beam.from + b / a;
  return Heights{middle - width, middle + width};
}

// Leaves form clumps: some cells of half a metre hold most of them.
double clump(double x, double y, double z) {
  const auto cell = [](double value) { return static_cast<std::uint64_t>(static_cast<std::int64_t>(value * 2 + 1e6)); };
  std::uint64_t mixed =
      cell(x) * 0x9E3779B97F4A7C15ULL ^ cell(y) * 0xC2B2AE3D27D4EB4FULL ^ cell(z) * 0x165667B19E3779F9ULL;
  mixed ^= mixed >> 29;
  mixed *= 0xBF58476D1CE4E5B9ULL;
  return (mixed >> 40) % 8 < 5 ? 1.4 : 0.25;
}

/// Shoots pulses at a forest and keeps the returns.
class Scanner {
 public:
  Scanner(const Forest& forest, Random& random) : forest_(forest), random_(random), grid_(forest) {
    for (const Tree& tree : forest.trees) {
      top_ = std::max(top_, tree.ground + tree.height);
      if (forest.cut > 0) middle_ = tree.ground + tree.height / 2;
    }
    if (forest.cut == 0) middle_ = forest.terrain.base + 8;
    top_ = std::max(top_, middle_) + 1;
  }

  /// Flies strips in which each pulse covers 1 / `density` square metres of the site.
  void fly(double density) {
    points_.clear();
    pulses_.clear();
    clock_ = 0;
    const double spacing = 1 / std::sqrt(density / kStrips);
    for (std::uint16_t number = 0; number < kStrips; ++number) {
      const double side = (number % 2 == 0 ? -1 : 1) * (forest_.cut > 0 ? 24.0 : 0.4 * forest_.half);
      const Strip strip{number >= 2, number % 2 == 1, side, std::max(60.0, 3 * forest_.half)};
      fly_strip(strip, spacing, static_cast<std::uint16_t>(number + 1));
      clock_ += kStripTurn;
    }
  }

  /// Removes pulses, then last returns of pulses, until `wanted` points are left. At least `wanted` points must exist.
  std::vector<LaserReturn> thinned(std::uint64_t wanted) {
    std::uint64_t excess = points_.size() - wanted;
    std::vector<std::uint8_t> kept(pulses_.size());
    for (std::size_t i = 0; i < pulses_.size(); ++i) kept[i] = points_[pulses_[i]].returns;
    while (excess > 0) {
      std::uint8_t& left = kept[random_.below(kept.size())];
      const auto taken = static_cast<std::uint8_t>(excess >= kMostReturns ? left : std::min<unsigned>(left, 1));
      left = static_cast<std::uint8_t>(left - taken);
      excess -= taken;
    }
    std::vector<LaserReturn> rest;
    rest.reserve(wanted);
    for (std::size_t i = 0; i < pulses_.size(); ++i) {
      for (std::size_t k = 0; k < kept[i]; ++k) {
        rest.push_back(points_[pulses_[i] + k]);
        rest.back().returns = kept[i];
      }
    }
    return rest;
  }

  std::uint64_t points() const { return points_.size(); }

 private:
  // The direction alternates from line to line, because the mirror swings.
  void fly_strip(const Strip& strip, double spacing, std::uint16_t number) {
    const auto steps = static_cast<std::uint64_t>(std::ceil(2 * forest_.half / spacing));
    for (std::uint64_t line = 0; line < steps; ++line) {
      for (std::uint64_t shot = 0; shot < steps; ++shot) {
        const auto along_step = static_cast<double>(strip.back ? steps - 1 - line : line);
        const auto across_step = static_cast<double>(line % 2 == 0 ? shot : steps - 1 - shot);
        const double along = -forest_.half + (along_step + 0.5 + random_.uniform(-0.4, 0.4)) * spacing;
        const double across = -forest_.half + (across_step + 0.5 + random_.uniform(-0.4, 0.4)) * spacing;
        const double slant = (across - strip.side) / strip.above;
        const double pitch = random_.uniform(-0.02, 0.02);
        shoot(strip.across ? Beam{along, across, middle_, pitch, slant} : Beam{across, along, middle_, slant, pitch},
              slant, number, shot + 1 == steps);
        clock_ += 1 / kPulseRate;
      }
      clock_ += kLineTurn;
    }
  }

  void shoot(const Beam& beam, double slant, std::uint16_t strip, bool edge) {
    hits_.clear();
    if (random_.uniform() < kNoiseShare) {
      const bool below = random_.uniform() < 0.3;
      const double z = below ? middle_ - random_.uniform(20, 40) : top_ + random_.uniform(3, 40);
      hits_.push_back({z, Matter::noise, nullptr});
    } else {
      meet(beam);
    }
    if (forest_.cut > 0 && std::any_of(hits_.begin(), hits_.end(), [&](const Hit& hit) { return outside(beam, hit); }))
      return;
    record(beam, slant, strip, edge);
  }

  bool outside(const Beam& beam, const Hit& hit) const {
    return std::hypot(beam.x_at(hit.z), beam.y_at(hit.z)) > forest_.cut;
  }

  double ground_of(const Beam& beam) const {
    double z = middle_ - 10;
    for (int i = 0; i < 6; ++i) z = forest_.terrain.at(beam.x_at(z), beam.y_at(z));
    return z;
  }

  // Collects everything on the pulse's path from the top, then chooses the returns.
  void meet(const Beam& beam) {
    const double ground = ground_of(beam);
    grid_.near(beam.x_at(top_), beam.y_at(top_), beam.x_at(ground), beam.y_at(ground), [&](std::uint32_t number) {
      leaves(beam, forest_.trees[number], ground);
      trunk(beam, forest_.trees[number], ground);
    });
    hits_.push_back({ground, Matter::ground, nullptr});
    std::sort(hits_.begin(), hits_.end(), [](const Hit& a, const Hit& b) { return a.z > b.z; });
    std::size_t kept = 0;
    double last = 1e9;
    for (const Hit& hit : hits_) {
      if (hit.matter != Matter::ground && last - hit.z < kNextReturn) continue;
      last = hit.z;
      hits_[kept++] = hit;
      if (kept == kMostReturns || hit.matter != Matter::leaf || random_.uniform() < 0.4) break;
    }
    hits_.resize(kept);
  }

  void leaves(const Beam& beam, const Tree& tree, double ground) {
    const auto heights = within(beam, tree, tree.crown_radius());
    if (!heights) return;
    const double high = std::min(heights->high, tree.ground + tree.height);
    const double low = std::max({heights->low, tree.ground + tree.species.crown_base * tree.height, ground + 0.1});
    for (double z = high - random_.uniform() * kStep; z > low; z -= kStep) {
      const double x = beam.x_at(z), y = beam.y_at(z);
      const double share = tree.crown_share(z - tree.ground, x - tree.x, y - tree.y);
      if (share >= 1) continue;
      // most leaves are in the light, near the crown's surface
      const double density = tree.species.density * (0.5 + share) * clump(x, y, z);
      if (random_.uniform() < density * kStep) hits_.push_back({z, Matter::leaf, &tree});
    }
  }

  void trunk(const Beam& beam, const Tree& tree, double ground) {
    if (tree.trunk == 0) return;
    const auto heights = within(beam, tree, tree.trunk * 0.8);
    if (!heights) return;
    const double z = std::min(heights->high, tree.ground + 0.9 * tree.height);
    if (z > std::max(heights->low, ground + 0.05)) hits_.push_back({z, Matter::trunk, &tree});
  }

  void record(const Beam& beam, double slant, std::uint16_t strip, bool edge) {
    if (!hits_.empty()) pulses_.push_back(points_.size());
    double light = 1;
    for (std::size_t i = 0; i < hits_.size(); ++i) {
      const bool last = i + 1 == hits_.size();
      const double share = last ? light : light * random_.uniform(0.3, 0.7);
      points_.push_back(return_of(beam, hits_[i], share));
      LaserReturn& point = points_.back();
      point.gps_time = clock_;
      point.scan_angle = static_cast<float>(std::atan(slant) * 180 / std::numbers::pi);
      point.source = strip;
      point.number = static_cast<std::uint8_t>(i + 1);
      point.returns = static_cast<std::uint8_t>(hits_.size());
      point.edge = edge && last;
      light -= share;
    }
  }

  LaserReturn return_of(const Beam& beam, const Hit& hit, double light) {
    std::array<double, 3> colour{0.45, 0.38, 0.28};  // soil and litter
    double reflectance = 0.35;
    std::uint8_t classification = 2;
    if (hit.tree != nullptr) {
      classification = hit.z - hit.tree->ground < 5 ? 4 : 5;
      colour = hit.matter == Matter::leaf ? hit.tree->species.leaf : std::array<double, 3>{0.36, 0.30, 0.25};
      reflectance = hit.matter == Matter::leaf ? hit.tree->species.reflectance : 0.5;
    } else if (hit.matter == Matter::noise) {
      classification = 7;
      reflectance = 0.05;
      colour = {0.7, 0.7, 0.75};
    }
    const double rough = 0.02;  // measurement noise
    LaserReturn point{};
    point.position = {beam.x_at(hit.z) + rough * random_.uniform(-1, 1),
                      beam.y_at(hit.z) + rough * random_.uniform(-1, 1), hit.z + rough * random_.uniform(-1, 1)};
    point.classification = classification;
    point.intensity = static_cast<std::uint16_t>(60000 * light * reflectance * random_.uniform(0.7, 1.0));
    const double shade = random_.uniform(0.7, 1.3);
    for (std::size_t i = 0; i < 3; ++i)
      point.colour[i] = static_cast<std::uint16_t>(65535 * std::min(1.0, colour[i] * shade));
    return point;
  }

  const Forest& forest_;
  Random& random_;
  TreeGrid grid_;
  double top_ = -1e9, middle_ = 0;  // heights: nothing is above top_; pulses are aimed at middle_
  double clock_ = 0;                // seconds
  std::vector<Hit> hits_;           // hits of the current pulse
  std::vector<LaserReturn> points_;
  std::vector<std::size_t> pulses_;  // index of each pulse's first return
};

// Exactly `points` returns of pulses, shot in parallel and crossing flight strips, line by line. Therefore neighbours
// in the result are neighbours on the ground, and pulse times increase. A pulse follows a slanted line, loses light at
// each leaf that it meets, and ends at a trunk or the ground. Its returns are numbered from the top. A few pulses meet
// dust or birds, which are classified as noise. Positions are relative to the middle of the forest in x and y, and to
// height 0.
std::vector<LaserReturn> scan(const Forest& forest, std::uint64_t points, Random& random) {
  Scanner scanner(forest, random);
  const double area = 4 * forest.half * forest.half;
  // A sparse scan measures the points per pulse; the full scan shoots a few more pulses than that suggests.
  double density = 3000 / area;
  scanner.fly(density);
  while (scanner.points() < points) {
    const double found = static_cast<double>(std::max<std::uint64_t>(scanner.points(), 1));
    density *= std::max(1.01, 1.03 * static_cast<double>(points) / found);
    scanner.fly(density);
  }
  return scanner.thinned(points);
}

constexpr std::uint32_t kCloudStream = 18;       // stream number of Random
constexpr std::uint64_t kMostPoints = 50000000;  // about 2 GB while a file is made
constexpr double kPointsPerSquare = 120;         // density of a stand, per square metre

// Edge of a stand's square for the usual density. The edge is clamped; beyond the limits, the density changes.
double edge_of(std::uint64_t points) {
  return std::clamp(std::sqrt(static_cast<double>(points) / kPointsPerSquare), 30.0, 250.0);
}

}  // namespace

void synth_clouds(const std::filesystem::path& destination, const SynthCloudOptions& options,
                  const SynthProgress& progress) {
  const auto [fewest, most] = options.points;
  if (fewest == 0 || fewest > most || most > kMostPoints) {
    throw Error::invalid_argument("points per cloud must be between 1 and " + std::to_string(kMostPoints) +
                                  ", and the minimum must not exceed the maximum");
  }
  if (!writes_las_format(options.las_format)) las_bytes({.format = options.las_format, .offset = {}}, {});  // throws
  const auto make = [&](std::uint64_t number, std::uint32_t label) {
    Random random(options.files.seed, 0, number, kCloudStream);
    const std::uint64_t points = fewest + random.below(most - fewest + 1);
    const Forest forest = options.layout == CloudLayout::trees
                              ? Forest::single_tree(label, options.files.classes, random)
                              : Forest::stand(label, options.files.classes, edge_of(points), random);
    // A place in UTM zone 32. Northings have seven digits, where neighbouring float32 values are half a metre apart.
    const double easting = 380000.0 + static_cast<double>(random.below(200000));
    const double northing = 5300000.0 + static_cast<double>(random.below(700000));
    const double start = 3e8 + 1e5 * static_cast<double>(number % 1000) + random.uniform(0, 5e4);
    std::vector<LaserReturn> returns = scan(forest, points, random);
    for (LaserReturn& point : returns) point.gps_time += start;
    return las_bytes({.format = options.las_format, .offset = {easting, northing, 0}}, returns);
  };
  synth_files(destination, "las", options.files, make, progress);
}

}  // namespace penstock
