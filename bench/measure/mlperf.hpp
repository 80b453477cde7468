// Simulates the accelerators of MLPerf Storage: batch size, computation time, and required utilisation.
//
// Source: MLPerf Storage v2.0 (github.com/mlcommons/storage, tag v2.0-rc0, configs/dlio/workload/*.yaml:
// reader.batch_size, train.computation_time, metric.au), with the same values as v1.0. For the utilisation: its
// Submission_guidelines.md, section 4, and StatsCounter.compute_metrics_train of DLIO
// (dlio_benchmark/utils/statscounter.py). Measurements on other data are not results of that benchmark.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace penstock {

struct EmulatedAccelerator {
  std::string_view name;  ///< workload and accelerator: "resnet50-h100"
  std::uint32_t batch_size;
  std::chrono::nanoseconds step;  ///< computation time of a batch, measured on such an accelerator
  double least_utilisation;       ///< 0 to 1: the benchmark's threshold

  /// Samples per second at which one accelerator is at its threshold.
  double least_samples_per_s() const {
    return least_utilisation * batch_size / std::chrono::duration<double>(step).count();
  }
  /// Maximum number of accelerators that share this rate with each at its threshold.
  std::uint64_t fed_by(double samples_per_s) const;
  std::string summary() const;  ///< "400 samples in 224 ms, required utilisation 90 %"
};

std::span<const EmulatedAccelerator> emulated_accelerators();
/// Null if the name is unknown.
const EmulatedAccelerator* emulated_accelerator(std::string_view name);

/// Share of the time, 0 to 1, in which an accelerator computes: AU = batches * step / seconds, for one accelerator with
/// the step of the configuration. DLIO leaves the first step of an epoch out of both. Here, the batches that fill the
/// pipeline are not measured. 0 if `seconds` is 0.
double accelerator_utilisation(std::uint64_t batches, std::chrono::nanoseconds step, double seconds);

}  // namespace penstock
