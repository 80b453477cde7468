// `penstock doctor --bandwidth`: measures disk, memory, network and GPU, next to the needs of a dataset and a step.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

namespace penstock::cli {

struct BandwidthArguments {
  bool measure = false;  ///< --bandwidth
  std::optional<double> step_ms;
  std::uint32_t batch_size = 64;
  std::string sample_size;  ///< stored bytes; empty: those of the dataset

  void declare(CLI::App& command);
  /// Prints the table. Returns the exit code. Throws Error.
  int run(const std::string& path) const;
};

}  // namespace penstock::cli
