// Measures the cost of methods that take a few points of each cloud, and how well these points represent the cloud.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <base/machine.hpp>
#include <bench/measure/coverage.hpp>
#include <bench/measure/dataset_summary.hpp>
#include <bench/measure/sweep.hpp>
#include <penstock/dataset.hpp>

namespace penstock {

struct SamplingOptions {
  std::int64_t points = 4096;  ///< per cloud
  std::string field = {};      ///< field with the clouds; empty: the first such field
  std::uint64_t seed = 0;
  double seconds = 3;             ///< measured for each method, over all rounds
  std::uint64_t compared = 4;     ///< number of clouds, spread over the dataset, whose coverage is computed
  std::filesystem::path scratch;  ///< folder for the packed datasets; replaces those of an earlier run
  /// Called with (current work, steps done, steps in all). If it returns false, the call ends with Error: resource,
  /// "interrupted".
  std::function<bool(const std::string& what, std::uint64_t done, std::uint64_t total)> progress = {};
};

/// The clouds, packed once for the methods that read them in this form.
struct SamplingPack {
  std::string name;     ///< "progressive", "stratified", "presampled"
  std::string options;  ///< of `penstock pack`
  double seconds = 0;
  std::uint64_t bytes = 0;
};

struct SamplingRow {
  std::string way;     ///< "random", "fps", "window", ...
  std::string stored;  ///< "as stored", or a pack's name
  std::string chain;
  Spread ms_per_cloud = {};                          ///< with one worker: read, decode, sample
  double bytes_per_cloud = 0;                        ///< read
  Coverage coverage = {};                            ///< mean over the compared clouds
  std::vector<std::array<float, 2>> side_view = {};  ///< x and z of the points taken from the first compared cloud
};

struct SamplingReport {
  Machine machine;
  std::string file_system;
  DatasetSummary dataset;
  std::string field;
  std::int64_t points = 0;
  double points_per_cloud = 0;    ///< mean over the compared clouds
  std::vector<SamplingRow> rows;  ///< unpacked clouds first, then packed ones
  std::vector<SamplingPack> packs;
};

/// Packs the clouds in progressive and in stratified order and presampled. Then loads all versions in turns, with one
/// worker and every method. Voxel and Poisson sampling use the largest size that finds enough points in the first
/// compared cloud. Throws Error: invalid_argument, if no field holds clouds; errors of packing and loading.
SamplingReport compare_sampling(const Dataset& clouds, const SamplingOptions& options);

std::string to_text(const SamplingReport& report);
/// {"penstock", "machine", "dataset", "points", "rows": [{"way", "stored", "chain", "ms_per_cloud", "bytes_per_cloud",
/// "mean_distance", "most_distance"}], "packs": [{"name", "options", "seconds", "bytes"}]}
std::string to_json(const SamplingReport& report);
/// One page without external references: cost against coverage, the table, and side views of each method's points.
std::string to_html(const SamplingReport& report);

}  // namespace penstock
