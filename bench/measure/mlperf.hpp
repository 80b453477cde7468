// Stands in for the accelerators of MLPerf Storage: their batches, how long they compute, and when they count as fed.
//
// Source: MLPerf Storage v2.0 (github.com/mlcommons/storage, tag v2.0-rc0, configs/dlio/workload/*.yaml:
// reader.batch_size, train.computation_time, metric.au), the same figures as v1.0 has; its Submission_guidelines.md,
// section 4, and StatsCounter.compute_metrics_train of DLIO (dlio_benchmark/utils/statscounter.py) for the utilisation.
// What is measured with them on data of one's own is no result of that benchmark.
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
  std::chrono::nanoseconds step;  ///< computing on a batch, as it was measured on such an accelerator
  double least_utilisation;       ///< 0 to 1: the benchmark's threshold

  /// Samples a second with which one accelerator is at its threshold.
  double least_samples_per_s() const {
    return least_utilisation * batch_size / std::chrono::duration<double>(step).count();
  }
  /// How many at most share so many samples a second and are at their threshold each.
  std::uint64_t fed_by(double samples_per_s) const;
  std::string summary() const;  ///< "400 samples in 224 ms, wanted utilisation 90 %"
};

std::span<const EmulatedAccelerator> emulated_accelerators();
/// Null where there is none of that name.
const EmulatedAccelerator* emulated_accelerator(std::string_view name);

/// Share of the time, 0 to 1, that an accelerator computes: AU = batches * step / seconds, of one accelerator, in which
/// the step is the configuration's. DLIO leaves the first step of an epoch out of both; here the batches that fill the
/// pipeline are left out of what is measured. 0 where there is no time.
double accelerator_utilisation(std::uint64_t batches, std::chrono::nanoseconds step, double seconds);

}  // namespace penstock
