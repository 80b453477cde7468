// Measures what ways to take a few points of each cloud cost, and how well those points stand for the cloud.
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
  std::int64_t points = 4096;  ///< of each cloud
  std::string field = {};      ///< that holds the clouds; empty: the first that does
  std::uint64_t seed = 0;
  double seconds = 3;             ///< measured for each way, over all rounds
  std::uint64_t compared = 4;     ///< clouds, spread over the dataset, whose coverage is computed
  std::filesystem::path scratch;  ///< folder for the packed datasets; those of an earlier run are replaced
  /// Called with (what is done, steps done, steps in all); false ends with Error: resource, "interrupted".
  std::function<bool(const std::string& what, std::uint64_t done, std::uint64_t total)> progress = {};
};

/// The clouds packed once, for the ways that read them so.
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
  Spread ms_per_cloud = {};                          ///< one worker: read, decode, sample
  double bytes_per_cloud = 0;                        ///< read
  Coverage coverage = {};                            ///< means over the compared clouds
  std::vector<std::array<float, 2>> side_view = {};  ///< x and z of the points taken of the first compared cloud
};

struct SamplingReport {
  Machine machine;
  std::string file_system;
  DatasetSummary dataset;
  std::string field;
  std::int64_t points = 0;
  double points_per_cloud = 0;    ///< of the compared clouds
  std::vector<SamplingRow> rows;  ///< as stored first, packed ones behind
  std::vector<SamplingPack> packs;
};

/// Packs the clouds in progressive and in stratified order and presampled, then loads all of them in turns with one
/// worker in every way there is. Voxel and Poisson sampling get the largest size that finds enough points in the first
/// compared cloud. Throws Error: invalid_argument, where no field holds clouds; what packing and loading throw.
SamplingReport compare_sampling(const Dataset& clouds, const SamplingOptions& options);

std::string to_text(const SamplingReport& report);
/// {"penstock", "machine", "dataset", "points", "rows": [{"way", "stored", "chain", "ms_per_cloud", "bytes_per_cloud",
/// "mean_distance", "most_distance"}], "packs": [{"name", "options", "seconds", "bytes"}]}
std::string to_json(const SamplingReport& report);
/// One page without any outside reference: cost against coverage, the table, and side views of what each way took.
std::string to_html(const SamplingReport& report);

}  // namespace penstock
