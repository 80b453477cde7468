#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <overview/steps.hpp>
#include <penstock/error.hpp>

namespace penstock::overview {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

std::array<Ranges, kCategories> category_ranges(const Trace& trace) {
  std::array<std::vector<Range>, kCategories> found;
  const auto add = [&](Category category, const auto& event) {
    found[static_cast<std::size_t>(category)].push_back({event.begin, event.end});
  };
  ForNames collective(trace.names, is_collective), kernel_of_collective(trace.names, is_collective_kernel);
  std::unordered_set<std::uint64_t> collectives;  // external ids
  for (const HostEvent& event : trace.host) {
    switch (event.kind) {
      case HostKind::runtime:
        add(Category::runtime, event);
        break;
      case HostKind::loader:
        add(Category::dataloader, event);
        break;
      case HostKind::op:
      case HostKind::annotation:
        if (collective(event.name)) {
          add(Category::communication, event);
          if (event.link != 0) collectives.insert(event.link);
        } else if (event.kind == HostKind::op) {
          add(Category::cpu, event);
        }
        break;
      case HostKind::step:
      case HostKind::python:
        break;
    }
  }
  for (const DeviceEvent& event : trace.device) {
    switch (event.kind) {
      case DeviceKind::kernel:
        add((has_external_id(event) && collectives.contains(event.external_id)) || kernel_of_collective(event.name)
                ? Category::communication
                : Category::kernel,
            event);
        break;
      case DeviceKind::memcpy:
        add(Category::memcpy, event);
        break;
      case DeviceKind::memset:
        add(Category::memset, event);
        break;
    }
  }
  std::array<Ranges, kCategories> ranges;
  for (std::size_t i = 0; i < kCategories; ++i) ranges[i] = merged(std::move(found[i]));
  return ranges;
}

/// Device work that a step launched.
struct Launched {
  std::int64_t first_begin = kNever, last_end = -kNever;
  std::size_t events = 0;
};

class Launches {
 public:
  explicit Launches(const Trace& trace) : trace_(trace) {
    for (std::uint32_t i = 0; i < trace.device.size(); ++i) {
      if (trace.device[i].correlation != 0) by_correlation_[trace.device[i].correlation].push_back(i);
    }
    for (const HostEvent& event : trace.host) {
      if (event.kind == HostKind::runtime && by_correlation_.contains(event.link)) calls_.push_back(event);
    }
    std::ranges::sort(calls_, {}, &HostEvent::begin);
    launched_.resize(trace.device.size());
  }

  /// Returns the device work of the calls inside the range.
  Launched in(const Range& range) {
    Launched out;
    const auto first = std::ranges::lower_bound(calls_, range.begin, {}, &HostEvent::begin);
    for (auto call = first; call != calls_.end() && call->begin < range.end; ++call) {
      if (call->end > range.end) continue;
      for (const std::uint32_t number : by_correlation_[call->link]) {
        const DeviceEvent& event = trace_.device[number];
        out.first_begin = std::min(out.first_begin, event.begin);
        out.last_end = std::max(out.last_end, event.end);
        ++out.events;
        launched_[number] = true;
      }
    }
    return out;
  }

  /// Returns the end of the last work that no range of in() launched and that ended before `time`, or `otherwise`.
  std::int64_t earlier_end(std::int64_t time, std::int64_t otherwise) const {
    std::int64_t end = otherwise;
    for (std::size_t i = 0; i < launched_.size(); ++i) {
      if (!launched_[i] && trace_.device[i].end < time) end = std::max(end, trace_.device[i].end);
    }
    return end;
  }

 private:
  const Trace& trace_;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> by_correlation_;
  std::vector<HostEvent> calls_;
  std::vector<bool> launched_;
};

std::vector<Step> host_steps(const Trace& trace) {
  std::vector<Step> steps;
  for (const HostEvent& event : trace.host) {
    if (event.kind != HostKind::step) continue;
    const std::string& name = trace.names.text(event.name);
    steps.push_back({name.substr(name.find('#') + 1), {event.begin, event.end}, {}});
  }
  std::ranges::stable_sort(steps, {}, [](const Step& step) { return step.range.begin; });
  return steps;
}

Step whole_trace(const Trace& trace) {
  Range range{kNever, -kNever};
  for (const HostEvent& event : trace.host) {
    if (event.kind != HostKind::op) continue;
    range = {std::min(range.begin, event.begin), std::max(range.end, event.end)};
  }
  if (range.begin == kNever) {
    throw Error::unsupported(
        "the trace has neither steps nor operators; record it with ProfilerActivity.CPU, and with repeat=1 in "
        "its schedule",
        {.dataset = trace.path.string()});
  }
  return {"0", range, {}};
}

/// Moves the ends of steps to those of their device work. Returns how many steps at the end lack device work.
std::size_t follow_device(const Trace& trace, std::vector<Step>& steps) {
  Launches launches(trace);
  std::vector<Launched> launched;
  for (const Step& step : steps) launched.push_back(launches.in(step.range));
  const auto launches_any = [](const Launched& work) { return work.events != 0; };
  const auto last = std::find_if(launched.rbegin(), launched.rend(), launches_any);
  if (last == launched.rend()) return 0;
  std::int64_t before = steps.front().range.begin;
  if (launches_any(launched.front())) before = launches.earlier_end(launched.front().first_begin, before);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    Range& range = steps[i].range;
    range.begin = std::max(before, range.begin);
    range.end = std::max({range.begin, range.end, launched[i].last_end});
    before = range.end;
  }
  auto keep = static_cast<std::size_t>(launched.rend() - last);
  constexpr double kComplete = 0.8;
  if (keep > 1 &&
      kComplete * static_cast<double>(launched[keep - 2].events) > static_cast<double>(launched[keep - 1].events)) {
    --keep;
  }
  return steps.size() - keep;
}

}  // namespace

std::string_view name(Category category) {
  constexpr std::array<std::string_view, kCategories> kNames{"Kernel",  "Memcpy",     "Memset",   "Communication",
                                                             "Runtime", "DataLoader", "CPU Exec", "Other"};
  return kNames[static_cast<std::size_t>(category)];
}

double CategoryTimes::sum() const {
  return std::accumulate(of.begin(), of.end(), 0.0);
}

CategoryTimes StepTimes::mean() const {
  CategoryTimes mean;
  for (std::size_t i = 0; i < kCategories; ++i) {
    for (const Step& step : steps) mean.of[i] += step.times.of[i];
    mean.of[i] /= static_cast<double>(steps.size());
  }
  return mean;
}

double StepTimes::mean_step() const {
  if (steps.empty()) return 0;
  double sum = 0;
  for (const Step& step : steps) sum += static_cast<double>(step.range.length());
  return sum / static_cast<double>(steps.size());
}

double StepTimes::standard_deviation() const {
  if (steps.size() < 2) return 0;
  const double mean_length = mean_step();
  double squares = 0;
  for (const Step& step : steps) squares += std::pow(static_cast<double>(step.range.length()) - mean_length, 2);
  return std::sqrt(squares / static_cast<double>(steps.size() - 1));
}

StepTimes find_steps(const Trace& trace) {
  StepTimes out;
  out.steps = host_steps(trace);
  out.marked = !out.steps.empty();
  if (!out.marked) out.steps.push_back(whole_trace(trace));
  out.left_out = follow_device(trace, out.steps);
  out.steps.resize(out.steps.size() - out.left_out);
  out.ranges = category_ranges(trace);
  for (Step& step : out.steps) {
    Ranges rest = merged({step.range});
    for (std::size_t i = 0; i + 1 < kCategories; ++i) {
      const Ranges inside = clipped(out.ranges[i], step.range);
      step.times.of[i] = static_cast<double>(total(intersection(rest, inside)));
      rest = difference(rest, inside);
    }
    step.times.of[kCategories - 1] = static_cast<double>(total(rest));
  }
  return out;
}

bool is_collective(std::string_view name) {
  return name.starts_with("nccl:") || name.starts_with("gloo:");
}

bool is_collective_kernel(std::string_view name) {
  return name.starts_with("ncclKernel") || name.starts_with("ncclDevKernel") || name.starts_with("rcclKernel") ||
         name.find("mscclKernel") != std::string_view::npos;
}

}  // namespace penstock::overview
