#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include <overview/device_use.hpp>

namespace penstock::overview {
namespace {

constexpr std::int64_t kKernelGap = 30'000;  // nanoseconds

struct Launched {
  const DeviceEvent* event;
  std::optional<std::int64_t> launch;  ///< beginning of the call that launched it, if it was recorded
};

/// Returns the time from which on launches do not count, or nothing if all count.
std::optional<std::int64_t> begin_of_last_step(const Trace& trace) {
  std::optional<std::int64_t> last;
  std::optional<std::uint32_t> name;
  bool several = false;
  for (const HostEvent& event : trace.host) {
    if (event.kind != HostKind::step) continue;
    several = several || (name && *name != event.name);
    name = event.name;
    last = std::max(last.value_or(event.begin), event.begin);
  }
  return several ? last : std::nullopt;
}

using Streams = std::map<std::pair<std::int32_t, std::int32_t>, std::vector<Launched>>;

Streams launched_on_streams(const Trace& trace) {
  std::unordered_map<std::uint64_t, std::int64_t> launches;
  for (const HostEvent& event : trace.host) {
    if (event.kind == HostKind::runtime && event.link != 0) launches.try_emplace(event.link, event.begin);
  }
  const auto last = begin_of_last_step(trace);
  Streams streams;
  for (const DeviceEvent& event : trace.device) {
    const auto launch = launches.find(event.correlation);
    const bool known = launch != launches.end();
    if (last && (!known || launch->second >= *last)) continue;
    streams[{event.device, event.stream}].push_back({&event, known ? std::optional(launch->second) : std::nullopt});
  }
  return streams;
}

void split_gaps(const std::vector<Launched>& events, const Ranges& loader, StreamIdle& out) {
  std::vector<Range> host_gaps;
  for (std::size_t i = 1; i < events.size(); ++i) {
    const Range gap{events[i - 1].event->end, events[i].event->begin};
    const auto length = static_cast<double>(gap.length());
    if (events[i].launch && *events[i].launch > gap.begin) {
      out.host += length;
      host_gaps.push_back(gap);
    } else if (gap.length() < kKernelGap) {
      out.kernel += length;
    } else {
      out.other += length;
    }
  }
  out.host_in_loader = static_cast<double>(total(intersection(merged(std::move(host_gaps)), loader)));
}

void measure_queue(const std::vector<Launched>& events, StreamIdle& out) {
  std::vector<std::pair<std::int64_t, int>> changes;
  for (const Launched& launched : events) {
    if (!launched.launch) continue;
    changes.emplace_back(*launched.launch, 1);
    changes.emplace_back(launched.event->begin, -1);
  }
  std::ranges::sort(changes, [](const auto& left, const auto& right) {
    return left.first != right.first ? left.first < right.first : left.second > right.second;
  });
  std::int64_t length = 0;
  double sum = 0;
  for (const auto& [time, change] : changes) {
    length += change;
    sum += static_cast<double>(length);
    out.queue_max = std::max(out.queue_max, length);
  }
  if (!changes.empty()) out.queue_mean = sum / static_cast<double>(changes.size());
}

}  // namespace

std::vector<StreamIdle> idle_of_streams(const Trace& trace, const StepTimes& steps) {
  std::vector<StreamIdle> out;
  for (auto& [place, events] : launched_on_streams(trace)) {
    std::ranges::stable_sort(events, {}, [](const Launched& launched) { return launched.event->begin; });
    StreamIdle idle;
    idle.device = place.first;
    idle.stream = place.second;
    idle.events = events.size();
    split_gaps(events, steps.ranges[static_cast<std::size_t>(Category::dataloader)], idle);
    measure_queue(events, idle);
    out.push_back(idle);
  }
  return out;
}

}  // namespace penstock::overview
