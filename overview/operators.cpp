#include <algorithm>
#include <unordered_map>
#include <utility>

#include <overview/device_use.hpp>
#include <overview/operators.hpp>

namespace penstock::overview {
namespace {

double length(const auto& event) {
  return static_cast<double>(event.end - event.begin);
}

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

/// An event and its place among those of its thread, which nest.
struct Node {
  const HostEvent* event;
  std::size_t parent = kNone, children = 0;
};

/// Returns the operators and the calls of the runtime, so that parents come before their children.
std::vector<Node> nested(const Trace& trace) {
  std::vector<Node> nodes;
  for (const HostEvent& event : trace.host) {
    if (event.kind != HostKind::annotation && event.kind != HostKind::python) nodes.push_back({&event});
  }
  std::ranges::stable_sort(nodes, [](const Node& left, const Node& right) {
    const HostEvent &l = *left.event, &r = *right.event;
    if (l.thread != r.thread) return l.thread < r.thread;
    return l.begin != r.begin ? l.begin < r.begin : l.end > r.end;
  });
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const HostEvent& event = *nodes[i].event;
    const auto contains = [&](const HostEvent& outer) {
      return outer.thread == event.thread && outer.end >= event.end;
    };
    while (!open.empty() && !contains(*nodes[open.back()].event)) open.pop_back();
    if (!open.empty()) {
      nodes[i].parent = open.back();
      ++nodes[open.back()].children;
    }
    open.push_back(i);
  }
  return nodes;
}

}  // namespace

std::vector<OperatorTimes> times_of_operators(const Trace& trace) {
  std::vector<OperatorTimes> by_name(trace.names.size());
  std::unordered_map<std::uint64_t, std::uint32_t> by_call, by_id;  // names by correlation and by external id
  const std::vector<Node> nodes = nested(trace);
  for (const Node& node : nodes) {
    const HostEvent& event = *node.event;
    const Node* const parent = node.parent == kNone ? nullptr : &nodes[node.parent];
    // Some versions of PyTorch record an operator twice: a node and its only child.
    const bool twice = parent != nullptr && parent->children == 1 && parent->event->name == event.name;
    // A call of the driver inside one of the runtime belongs to that.
    if (parent != nullptr && parent->event->kind != HostKind::runtime)
      by_name[parent->event->name].host_self -= length(event);
    if (event.kind == HostKind::runtime) {
      const Node* outer = parent;
      while (outer != nullptr && outer->event->kind != HostKind::op)
        outer = outer->parent == kNone ? nullptr : &nodes[outer->parent];
      if (outer != nullptr && event.link != 0) by_call.insert_or_assign(event.link, outer->event->name);
      continue;
    }
    OperatorTimes& times = by_name[event.name];
    times.host_self += length(event);
    if (event.kind != HostKind::op) continue;
    if (event.link != 0) by_id.insert_or_assign(event.link, event.name);
    if (twice) continue;
    ++times.calls;
    times.host += length(event);
  }
  for (const DeviceEvent& event : trace.device) {
    if (const auto call = by_call.find(event.correlation); call != by_call.end()) {
      by_name[call->second].device_self += length(event);
    } else if (const auto op = by_id.find(event.external_id); op != by_id.end() && has_external_id(event)) {
      by_name[op->second].device_self += length(event);
    }
  }
  for (std::uint32_t i = 0; i < by_name.size(); ++i) by_name[i].name = trace.names.text(i);
  std::erase_if(by_name, [](const OperatorTimes& times) { return times.calls == 0; });
  std::ranges::stable_sort(by_name, std::ranges::greater(),
                           [](const OperatorTimes& times) { return times.host_self + times.device_self; });
  return by_name;
}

std::vector<KernelTimes> times_of_kernels(const Trace& trace) {
  std::vector<KernelTimes> by_name(trace.names.size());
  for (const DeviceEvent& event : trace.device) {
    if (event.kind != DeviceKind::kernel) continue;
    ++by_name[event.name].calls;
    by_name[event.name].time += length(event);
  }
  for (std::uint32_t i = 0; i < by_name.size(); ++i) by_name[i].name = trace.names.text(i);
  std::erase_if(by_name, [](const KernelTimes& times) { return times.calls == 0; });
  for (KernelTimes& times : by_name) times.tensor_cores = uses_tensor_cores(times.name);
  std::ranges::stable_sort(by_name, std::ranges::greater(), &KernelTimes::time);
  return by_name;
}

}  // namespace penstock::overview
