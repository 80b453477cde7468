#include <algorithm>
#include <cmath>
#include <string>

#include <bench/synth/forest.hpp>
#include <bench/synth/las_writer.hpp>
#include <bench/synth/laser_scan.hpp>
#include <bench/synth/synth_files.hpp>
#include <penstock/base/error.hpp>

namespace penstock {
namespace {

constexpr std::uint32_t kCloudStream = 18;       // of Random
constexpr std::uint64_t kMostPoints = 50000000;  // about 2 GB while a file is made
constexpr double kPointsPerSquare = 120;         // of a stand, per square metre

// The edge of a stand's square that gives it the usual density; within limits, beyond which density gives way.
double edge_of(std::uint64_t points) {
  return std::clamp(std::sqrt(static_cast<double>(points) / kPointsPerSquare), 30.0, 250.0);
}

}  // namespace

void synth_clouds(const std::filesystem::path& destination, const SynthCloudOptions& options,
                  const SynthProgress& progress) {
  const auto [fewest, most] = options.points;
  if (fewest == 0 || fewest > most || most > kMostPoints) {
    throw Error::invalid_argument("points per cloud must be at least 1, at most " + std::to_string(kMostPoints) +
                                  ", and rise");
  }
  if (!writes_las_format(options.las_format)) las_bytes({.format = options.las_format, .offset = {}}, {});  // throws
  const auto make = [&](std::uint64_t number, std::uint32_t label) {
    Random random(options.files.seed, 0, number, kCloudStream);
    const std::uint64_t points = fewest + random.below(most - fewest + 1);
    const Forest forest = options.layout == CloudLayout::trees
                              ? Forest::single_tree(label, options.files.classes, random)
                              : Forest::stand(label, options.files.classes, edge_of(points), random);
    // Somewhere in UTM zone 32: northings of seven digits, whose float32 neighbours are half a metre apart.
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
