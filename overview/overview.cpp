#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include <overview/overview.hpp>
#include <overview/reports/read_report.hpp>
#include <overview/trace/read_trace.hpp>
#include <penstock/error.hpp>

namespace penstock::overview {
namespace {

double mean_inside(const Ranges& ranges, const StepTimes& steps) {
  double sum = 0;
  for (const Step& step : steps.steps) sum += static_cast<double>(total(clipped(ranges, step.range)));
  return sum / static_cast<double>(steps.steps.size());
}

const Ranges& ranges_of(const StepTimes& steps, Category category) {
  return steps.ranges[static_cast<std::size_t>(category)];
}

LoaderWaits waits_of_loader(const Trace& trace, const StepTimes& steps) {
  LoaderWaits waits;
  ForNames with_workers(trace.names, [](std::string_view name) { return name.find("MultiProcessing") != name.npos; });
  ForNames replaced(trace.names, [](std::string_view name) { return name.find("ReplacedIterator") != name.npos; });
  for (const HostEvent& event : trace.host) {
    if (event.kind != HostKind::loader) continue;
    ++waits.calls;
    if (with_workers(event.name)) waits.workers = true;
    if (replaced(event.name)) waits.replaced = true;
  }
  waits.time = mean_inside(ranges_of(steps, Category::dataloader), steps);
  return waits;
}

Copies copies_of(const Trace& trace, const StepTimes& steps) {
  Copies copies;
  copies.time = mean_inside(ranges_of(steps, Category::memcpy), steps);
  std::vector<Range> pageable;
  ForNames from_pageable(trace.names, [](std::string_view name) { return name.find("HtoD (Pageable") != name.npos; });
  for (const DeviceEvent& event : trace.device) {
    if (event.kind == DeviceKind::memcpy && from_pageable(event.name)) pageable.push_back({event.begin, event.end});
  }
  copies.from_pageable = mean_inside(merged(std::move(pageable)), steps);
  return copies;
}

/// Finds the operator that reads one element of a tensor. On the CPU it does not wait, so only those are counted in
/// which the host calls the device's runtime.
Synchronisations synchronisations_of(const Trace& trace, const StepTimes& steps) {
  std::map<std::uint32_t, std::vector<Range>> calls;  // by thread
  for (const HostEvent& event : trace.host) {
    if (event.kind == HostKind::runtime) calls[event.thread].push_back({event.begin, event.end});
  }
  for (auto& [thread, ranges] : calls) ranges = merged(std::move(ranges));
  const Range window = steps.range();
  Synchronisations out;
  ForNames reads_element(trace.names, [](std::string_view name) { return name == "aten::_local_scalar_dense"; });
  for (const HostEvent& event : trace.host) {
    if (event.kind != HostKind::op || event.begin < window.begin || event.end > window.end) continue;
    if (!reads_element(event.name)) continue;
    const auto thread = calls.find(event.thread);
    if (thread == calls.end() || clipped(thread->second, {event.begin, event.end}).empty()) continue;
    out.calls += 1;
    out.time += static_cast<double>(event.end - event.begin);
  }
  const auto count = static_cast<double>(steps.steps.size());
  out.calls /= count;
  out.time /= count;
  return out;
}

std::vector<MemoryPeak> memory_peaks(const Trace& trace) {
  std::map<std::int32_t, MemoryPeak> peaks;
  std::map<std::int32_t, std::int64_t> sums;
  for (const MemoryEvent& event : trace.memory) {
    const std::int32_t device = event.device_type == 0 ? -1 : event.device;
    MemoryPeak& peak = peaks[device];
    peak.device = device;
    // The host's allocator records no totals.
    const std::int64_t sum = sums[device] += event.bytes;
    peak.allocated = std::max(peak.allocated, event.allocated >= 0 && device >= 0 ? event.allocated : sum);
    peak.reserved = std::max(peak.reserved, event.reserved);
  }
  std::vector<MemoryPeak> out;
  for (const auto& [device, peak] : peaks) out.push_back(peak);
  return out;
}

std::vector<Device> devices_of(const Trace& trace, const std::vector<DeviceUse>& uses) {
  std::vector<Device> out;
  for (const DeviceUse& use : uses) {
    const auto known = std::ranges::find(trace.devices, use.device, &Device::id);
    out.push_back(known != trace.devices.end() ? *known : Device{.id = use.device, .name = ""});
  }
  return out;
}

// ---- Reports --------------------------------------------------------------------------------------------------------

/// The kind of all files. Throws Error: invalid_argument, if a report is among files of other kinds.
FileKind common_kind(std::span<const std::filesystem::path> files) {
  std::vector<FileKind> kinds;
  for (const auto& file : files) kinds.push_back(kind_of_file(file));
  const auto is_report = [](FileKind kind) { return kind == FileKind::run || kind == FileKind::bench; };
  if (std::ranges::none_of(kinds, is_report)) return FileKind::trace;
  for (std::size_t i = 1; i < kinds.size(); ++i) {
    if (kinds[i] == kinds[0]) continue;
    throw Error::invalid_argument(files[0].string() + " is " + std::string(name(kinds[0])) + ", and " +
                                  files[i].string() + " is " + std::string(name(kinds[i])) +
                                  "; compare two files of one kind");
  }
  return kinds.front();
}

Overview overview_of_reports(std::span<const std::filesystem::path> files, FileKind kind) {
  if (files.size() != 2)
    throw Error::unsupported(std::string(name(kind)) + ", not a trace; pass two such reports to compare them" +
                                 (kind == FileKind::run ? ", or a trace of penstock run --trace 5" : ""),
                             {.dataset = files.front().string()});
  Overview out;
  out.comparison = compare(read_report(files[0], kind), read_report(files[1], kind));
  return out;
}

}  // namespace

double RankOverview::busy() const {
  double sum = 0;
  for (const DeviceUse& use : uses) sum += use.busy;
  return uses.empty() ? 0 : sum / static_cast<double>(uses.size());
}

double RankOverview::own_time() const {
  return std::max(0.0, step() - mean[Category::communication]);
}

RankOverview summarize(const Trace& trace) {
  RankOverview out;
  out.path = trace.path.string();
  out.rank = trace.rank;
  out.notes = trace.notes;
  out.events = trace.events;
  out.bytes = trace.bytes;
  out.steps = find_steps(trace);
  const StepTimes& steps = out.steps;
  if (!steps.marked)
    out.notes.emplace_back(
        "The trace has no ProfilerStep events, so all of it counts as one step. Call profiler.step() after each "
        "batch.");
  if (steps.left_out != 0)
    out.notes.push_back(
        (steps.left_out == 1 ? "The last step is" : "The last " + std::to_string(steps.left_out) + " steps are") +
        std::string(" left out, because the trace ends before the device has finished."));
  out.mean = steps.mean();
  out.communication = mean_inside(ranges_of(steps, Category::communication), steps);
  out.uses = use_of_devices(trace, steps);
  out.devices = devices_of(trace, out.uses);
  out.idle = idle_of_streams(trace, steps);
  out.loader = waits_of_loader(trace, steps);
  out.copies = copies_of(trace, steps);
  out.synchronisations = synchronisations_of(trace, steps);
  out.operators = times_of_operators(trace);
  out.kernels = times_of_kernels(trace);
  for (const OperatorTimes& op : out.operators) out.operator_time += op.host_self + op.device_self;
  for (const KernelTimes& kernel : out.kernels) out.kernel_time += kernel.time;
  const Range window = steps.range();
  for (const DeviceEvent& event : trace.device) {
    if (event.kind != DeviceKind::kernel || event.begin < window.begin || event.begin >= window.end) continue;
    out.kernels_per_step += 1;
    out.kernel_length += static_cast<double>(event.end - event.begin);
  }
  if (out.kernels_per_step > 0) out.kernel_length /= out.kernels_per_step;
  out.kernels_per_step /= static_cast<double>(steps.steps.size());
  out.memory = memory_peaks(trace);
  out.steps.ranges = {};
  return out;
}

Overview overview_of(std::span<const std::filesystem::path> files, const OverviewProgress& progress) {
  if (files.empty()) throw Error::invalid_argument("no trace");
  if (const FileKind kind = common_kind(files); kind != FileKind::trace) return overview_of_reports(files, kind);
  std::uint64_t bytes = 0, before = 0;
  for (const auto& path : files) {
    std::error_code unknown;
    const std::uintmax_t size = std::filesystem::file_size(path, unknown);
    if (!unknown) bytes += size;
  }
  Overview out;
  for (const auto& path : files) {
    std::uint64_t last = 0;
    out.ranks.push_back(summarize(read_trace(path, [&](std::uint64_t read) {
      last = read;
      return !progress || progress(before + read, bytes);
    })));
    before += last;
  }
  if (out.ranks.size() == 2 && out.ranks[0].rank.value_or(0) == out.ranks[1].rank.value_or(0)) {
    out.comparison = compare(out.ranks[0], out.ranks[1]);
    out.slowest = 1;
    out.diagnosis = diagnose(out.ranks[1]);
    return out;
  }
  std::ranges::stable_sort(out.ranks, {}, [](const RankOverview& rank) { return rank.rank.value_or(-1); });
  // In a distributed training all ranks take equally long for a step. The slowest one is that which others wait for:
  // outside of communication it takes the longest time.
  const auto [fastest, slowest] = std::ranges::minmax_element(out.ranks, {}, &RankOverview::own_time);
  out.slowest = static_cast<std::size_t>(slowest - out.ranks.begin());
  if (fastest->own_time() > 0) out.spread = slowest->own_time() / fastest->own_time() - 1;
  out.diagnosis = diagnose(*slowest);
  return out;
}

}  // namespace penstock::overview
