// The overview of a training: the time of its steps by category, the cause of a delay, and a remedy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <overview/device_use.hpp>
#include <overview/operators.hpp>
#include <overview/reports/comparison.hpp>
#include <overview/steps.hpp>
#include <overview/trace/trace.hpp>

namespace penstock::overview {

/// Times are nanoseconds, as a mean over the steps.
struct LoaderWaits {
  std::size_t calls = 0;  ///< of __next__() in the whole trace
  double time = 0;        ///< in __next__(), also where a device works
  bool workers = false;   ///< the DataLoader has worker processes
  bool replaced = false;  ///< `penstock run --replace` has replaced the DataLoader
};

struct Copies {
  double time = 0;           ///< of all copies, also beside kernels
  double from_pageable = 0;  ///< of the copies from pageable host memory to a device
};

/// Calls of .item() and the like, for which the host waits until the device has finished.
struct Synchronisations {
  double calls = 0;  ///< per step
  double time = 0;
};

struct MemoryPeak {
  std::int32_t device = -1;                  ///< -1: the host
  std::int64_t allocated = 0, reserved = 0;  ///< bytes; reserved is 0 if it is not recorded
};

/// One trace: a process, which is one rank of a distributed training.
struct RankOverview {
  std::string path;
  std::optional<std::int64_t> rank;
  std::vector<Device> devices;  ///< those with work in the trace
  std::vector<std::string> notes;
  std::uint64_t events = 0, bytes = 0;
  StepTimes steps;  ///< without ranges
  CategoryTimes mean;
  double communication = 0;  ///< a step's mean time in collectives, also where kernels hide it
  std::vector<DeviceUse> uses;
  std::vector<StreamIdle> idle;
  LoaderWaits loader;
  Copies copies;
  Synchronisations synchronisations;
  double kernels_per_step = 0;
  double kernel_length = 0;  ///< mean
  std::vector<OperatorTimes> operators;
  std::vector<KernelTimes> kernels;
  double operator_time = 0, kernel_time = 0;  ///< sums of host_self plus device_self, and of time
  std::vector<MemoryPeak> memory;

  double step() const { return steps.mean_step(); }
  double share(Category category) const { return step() > 0 ? mean[category] / step() : 0; }
  bool has_device() const { return !uses.empty(); }
  double busy() const;      ///< mean over the devices
  double own_time() const;  ///< of a step, without waiting for other ranks: outside of communication
};

enum class Cause : std::uint8_t { loading, copies, communication, synchronisation, host, other, none };

/// Sentences that the screen, the page and Python share.
struct Diagnosis {
  Cause cause = Cause::none;
  double share = 0;                   ///< of the step
  std::string why;                    ///< the cause, with its time
  std::string not_the_cause;          ///< causes that the trace excludes; may be empty
  std::vector<std::string> remedies;  ///< with a predicted step time and its range, if there is one
};

struct Overview {
  std::vector<RankOverview> ranks;  ///< in the order of ranks, or of the arguments; empty for reports
  /// For two reports, and for two traces that are not two ranks of one training.
  std::optional<Comparison> comparison;
  Diagnosis diagnosis;      ///< Explains the slowest rank, or the second run.
  std::size_t slowest = 0;  ///< The rank that the others wait for, or the second run.
  double spread = 0;  ///< By how much its step without communication is longer than the fastest one: 0.5 for 1.5 times.
};

/// Called with the bytes read so far and those of all files. Returns false to stop.
using OverviewProgress = std::function<bool(std::uint64_t read, std::uint64_t of)>;

/// Reads the traces, one after the other, and summarizes each. Or compares two reports of penstock run, or of bench and
/// tune. Throws what read_trace(), find_steps() and read_report() throw. Throws Error: invalid_argument, without a
/// file, and for files of several kinds; unsupported, unless there are two reports.
Overview overview_of(std::span<const std::filesystem::path> files, const OverviewProgress& progress = {});

RankOverview summarize(const Trace& trace);
Diagnosis diagnose(const RankOverview& rank);
Comparison compare(const RankOverview& before, const RankOverview& after);

/// A screen of text, without colours. Lines may be long. "+-" is two standard errors of the mean step.
std::string to_text(const Overview& overview);
/// A page without external references, for light and dark screens.
std::string to_html(const Overview& overview);
std::string to_json(const Overview& overview);

}  // namespace penstock::overview
