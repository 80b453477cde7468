// How well a trace's devices were used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <overview/steps.hpp>
#include <overview/trace/trace.hpp>

namespace penstock::overview {

/// Shares are of the time from the beginning of the first step to the end of the last one, unless stated otherwise.
/// A quantity
/// that the trace does not record is missing.
///
/// Source: torch-tb-profiler 0.4.3 (gpu_metrics_parser.py, tensor_cores_parser.py, tensor_core.py).
struct DeviceUse {
  std::int32_t device = 0;
  /// The share of the time in which at least one kernel runs.
  double busy = 0;
  /// The mean over the time of min(1, blocks per SM), with the blocks of all kernels that run at once. If blocks are
  /// spread evenly, this is the share of the multiprocessors that have a block.
  std::optional<double> sm_efficiency;
  /// The mean of the kernels' estimated occupancy, weighted by their duration, as a share.
  std::optional<double> occupancy;
  /// The share of the kernels' time in kernels whose names show that they use tensor cores. Missing for devices that
  /// are not NVIDIA's, because the names are those of NVIDIA's libraries.
  std::optional<double> tensor_cores;
};

std::vector<DeviceUse> use_of_devices(const Trace& trace, const StepTimes& steps);

/// Source: the list of PyProf (NVIDIA), as torch-tb-profiler 0.4.3 has it.
bool uses_tensor_cores(std::string_view kernel);

/// The idle time of a stream between two of its events, by cause, in nanoseconds.
///
/// A gap is `host` if the later event was launched after the earlier one had ended. Another gap is `kernel` if it is
/// shorter than 30 us, because a device needs some time from one kernel to the next. A longer gap is `other`: the
/// stream waits for another stream.
///
/// The device work of the last step is left out, because a trace often ends before it does.
///
/// Source: HTA 0.5 (breakdown_analysis.py, trace.py). Its documentation says 30 ns. Its times are microseconds, so that
/// the limit is 30 us.
struct StreamIdle {
  std::int32_t device = 0, stream = 0;
  std::size_t events = 0;
  double host = 0, kernel = 0, other = 0;
  double host_in_loader = 0;  ///< the part of `host` in which a thread waits in the __next__() of a DataLoader
  /// The mean and the maximum number of launched events that have not begun, at each launch and each begin.
  /// Source: HTA 0.5 (trace_counters.py).
  double queue_mean = 0;
  std::int64_t queue_max = 0;
  double idle() const { return host + kernel + other; }
};

/// In the order of devices and streams.
std::vector<StreamIdle> idle_of_streams(const Trace& trace, const StepTimes& steps);

}  // namespace penstock::overview
