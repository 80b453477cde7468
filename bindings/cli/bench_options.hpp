// Declares the options that `bench` and `tune` share.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <bench/measure/sweep.hpp>
#include <penstock/open_options.hpp>

#include "draw_arguments.hpp"
#include "length_options.hpp"

namespace penstock::cli {

struct BenchOptions {
  std::string task, consumer = "none", device;
  LoaderOptions loader;
  std::vector<unsigned> workers, prefetch;
  std::vector<std::uint32_t> batch_sizes = {64};
  double seconds = 5;
  bool cold = false;
  DrawArguments drawing;
  LengthOptions buckets;
  OpenOptions open;  ///< of all datasets

  void declare(CLI::App& command);
  /// Opens the device. Throws Error: invalid_argument; unsupported, where there is no such device.
  TrialOptions trial() const;
  /// Opens the dataset. Throws OpenFailure; Error: invalid_argument, when it does not have what the task needs.
  Subject subject(const std::string& dataset) const;
};

/// Of datasets in stores; shows how far it is. Throws what reading throws.
void fill_disk_caches(std::span<const Subject> subjects, const TrialOptions& trial);

}  // namespace penstock::cli
