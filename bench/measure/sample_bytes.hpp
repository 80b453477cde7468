// Computes the bytes that a loader reads and delivers for each sample.
#pragma once

#include <bench/measure/task.hpp>
#include <penstock/dataset.hpp>

namespace penstock {

struct SampleBytes {
  double stored = 0;     ///< read for a sample
  double delivered = 0;  ///< in a batch, for a sample
};

/// Mean over at most 1,024 samples spread over the dataset. Stored: values of the fields that the task reads, or the
/// files divided by the samples if these are fewer bytes (compressed data). Delivered: rows of the task; ragged
/// values count as stored.
SampleBytes sample_bytes(const Dataset& dataset, const Task& task);

}  // namespace penstock
