// Declares the options that `bench` and `tune` share.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <bench/measure/sweep.hpp>
#include <penstock/formats/open_options.hpp>

#include "draw_arguments.hpp"
#include "length_options.hpp"

namespace penstock::cli {

struct BenchOptions {
  std::string task, engine = "auto", consumer = "none", device, where = "auto";
  std::vector<unsigned> workers, prefetch;
  std::vector<std::uint32_t> batch_sizes = {64};
  double seconds = 5;
  std::uint64_t seed = 0, shuffle_block = 0;
  bool direct_io = false, cold = false, gpu_direct = false;
  double gpu_jpeg = 0;
  DrawArguments drawing;
  LengthOptions buckets;
  OpenOptions open;  ///< of all datasets
  std::string cache = "none", cache_bytes = "1GiB", cache_dir, cache_limit = "0",
              cache_scope{name(LoaderOptions{}.cache_scope)}, checksums{name(LoaderOptions{}.checksums)};

  void declare(CLI::App& command);
  /// Opens the device. Throws Error: invalid_argument; unsupported, where there is no such device.
  TrialOptions trial() const;
  /// Opens the dataset. Throws OpenFailure; Error: invalid_argument, when it does not have what the task needs.
  Subject subject(const std::string& dataset) const;
};

/// Of datasets in stores; shows how far it is. Throws what reading throws.
void fill_node_caches(std::span<const Subject> subjects, const TrialOptions& trial);

}  // namespace penstock::cli
