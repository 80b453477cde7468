#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <overview/device_use.hpp>

namespace penstock::overview {
namespace {

/// A kernel's blocks per multiprocessor begin or end to count.
struct Edge {
  std::int64_t time;
  bool ends;
  double blocks;
};

/// Returns the integral of min(1, blocks) over the window, in nanoseconds.
double covered_multiprocessors(std::vector<Edge> edges, const Range& window) {
  std::ranges::sort(edges, [](const Edge& left, const Edge& right) {
    return left.time != right.time ? left.time < right.time : left.ends < right.ends;
  });
  double covered = 0, blocks = 0;
  std::int64_t last = window.begin;
  for (const Edge& edge : edges) {
    const std::int64_t time = std::clamp(edge.time, window.begin, window.end);
    covered += std::clamp(blocks, 0.0, 1.0) * static_cast<double>(time - last);
    last = time;
    blocks += edge.ends ? -edge.blocks : edge.blocks;
  }
  return covered;
}

struct Kernels {
  std::vector<Range> ranges;
  std::vector<Edge> edges;
  double occupancy = 0, occupancy_time = 0;
  double time = 0, tensor_time = 0;
};

/// Devices without a name count as NVIDIA's, because PyTorch 1.8 recorded no names.
bool is_nvidia(const Trace& trace, std::int32_t device) {
  const auto known = std::ranges::find(trace.devices, device, &Device::id);
  if (known == trace.devices.end() || known->name.empty()) return true;
  constexpr std::string_view kOthers[] = {"AMD", "Radeon", "Intel", "MI1", "MI2", "MI3"};
  return std::ranges::none_of(kOthers,
                              [&](std::string_view other) { return known->name.find(other) != std::string::npos; });
}

}  // namespace

bool uses_tensor_cores(std::string_view kernel) {
  constexpr std::array<std::string_view, 18> kParts{"h884",
                                                    "s884",
                                                    "h1688",
                                                    "s1688",
                                                    "hmma",
                                                    "i8816",
                                                    "16816",
                                                    "dgrad_1x1_stride_2x2",
                                                    "first_layer_wgrad_kernel",
                                                    "conv1x1",
                                                    "conv2d_c1_k1",
                                                    "direct_group",
                                                    "xmma_implicit_gemm",
                                                    "xmma_sparse_conv",
                                                    "xmma_warp_specialized_implicit_gemm",
                                                    "xmma_gemm",
                                                    "xmma_sparse_gemm",
                                                    "c1688"};
  return std::ranges::any_of(kParts,
                             [&](std::string_view part) { return kernel.find(part) != std::string_view::npos; });
}

std::vector<DeviceUse> use_of_devices(const Trace& trace, const StepTimes& steps) {
  const Range window = steps.range();
  std::map<std::int32_t, Kernels> by_device;
  ForNames on_tensor_cores(trace.names, uses_tensor_cores);
  for (const DeviceEvent& event : trace.device) {
    if (event.kind != DeviceKind::kernel) continue;
    Kernels& kernels = by_device[event.device];
    kernels.ranges.push_back({event.begin, event.end});
    if (event.blocks_per_sm > 0) {
      kernels.edges.push_back({event.begin, false, static_cast<double>(event.blocks_per_sm)});
      kernels.edges.push_back({event.end, true, static_cast<double>(event.blocks_per_sm)});
    }
    const std::int64_t inside = std::min(event.end, window.end) - std::max(event.begin, window.begin);
    if (event.occupancy >= 0 && inside > 0) {
      kernels.occupancy += static_cast<double>(event.occupancy) * static_cast<double>(inside);
      kernels.occupancy_time += static_cast<double>(inside);
    }
    const auto length = static_cast<double>(event.end - event.begin);
    kernels.time += length;
    if (on_tensor_cores(event.name)) kernels.tensor_time += length;
  }
  std::vector<DeviceUse> out;
  const auto time = static_cast<double>(std::max<std::int64_t>(window.length(), 1));
  for (auto& [device, kernels] : by_device) {
    DeviceUse use;
    use.device = device;
    use.busy = static_cast<double>(total(clipped(merged(kernels.ranges), window))) / time;
    if (!kernels.edges.empty()) use.sm_efficiency = covered_multiprocessors(kernels.edges, window) / time;
    if (kernels.occupancy_time > 0) use.occupancy = kernels.occupancy / kernels.occupancy_time / 100;
    if (kernels.time > 0 && is_nvidia(trace, device)) use.tensor_cores = kernels.tensor_time / kernels.time;
    out.push_back(use);
  }
  return out;
}

}  // namespace penstock::overview
