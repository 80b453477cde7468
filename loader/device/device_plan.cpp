#include <algorithm>
#include <utility>

#include <penstock/loader/device/device_plan.hpp>
#include <penstock/loader/device/device_points.hpp>
#include <penstock/transforms/chain/step_table.hpp>
#include <penstock/transforms/program/compile.hpp>

namespace penstock {
namespace {

constexpr std::uint32_t kMostRows = 65'535;  // of a pass

bool is_layout_or_number(const Step& step) {
  return step.is<step::Normalize>() || step.is<step::Cast>() || step.is<step::ChannelsLast>();
}

/// Steps before the numbers, where all that follow are numbers and layout, and the result is no uint8.
std::optional<std::size_t> steps_before_numbers(const Chain& chain) {
  const auto first = std::ranges::find_if(chain.steps, is_layout_or_number);
  if (chain.followed || !chain.misuse.empty() || !std::all_of(first, chain.steps.end(), is_layout_or_number)) return {};
  const auto* decode = find_step<step::Decode>(chain);
  if (decode != nullptr && decode->ragged) return {};
  const auto* cast = find_step<step::Cast>(chain);
  if (cast == nullptr && find_step<step::Normalize>(chain) == nullptr) return {};
  if (cast != nullptr && cast->dtype != DType::f32 && cast->dtype != DType::f16 && cast->dtype != DType::bf16)
    return {};
  const auto is_pixels = [](const Step& step) { return step.table().traits().before_device; };
  if (first == chain.steps.begin() || !std::all_of(chain.steps.begin(), first, is_pixels)) return {};
  return static_cast<std::size_t>(first - chain.steps.begin());
}

ImagePass pass_of(const Chain& chain, const Output& host, const Output& whole) {
  ImagePass pass;
  pass.in_height = pass.height = static_cast<std::int32_t>(host.shape[0]);
  pass.in_width = pass.width = static_cast<std::int32_t>(host.shape[1]);
  pass.channels = static_cast<std::int32_t>(host.shape[2]);
  pass.dtype = whole.dtype;
  pass.channels_last = find_step<step::ChannelsLast>(chain) != nullptr;
  if (const auto* step = find_step<step::Normalize>(chain)) normalize(pass, step->mean.data(), step->stddev.data());
  return pass;
}

bool fits(const Chain& chain, const Output& host, const Output& whole) {
  if (host.dtype != DType::u8 || host.shape.size() != 3 || whole.shape.size() != 3) return false;
  const auto* step = find_step<step::Normalize>(chain);
  if (step != nullptr && static_cast<std::int64_t>(step->mean.size()) != host.shape[2]) return false;
  const Shape turned{host.shape[2], host.shape[0], host.shape[1]};
  return whole.shape == (find_step<step::ChannelsLast>(chain) != nullptr ? host.shape : turned);
}

}  // namespace

std::optional<std::vector<FieldChain>> chains_before_device(const LoaderOptions& options) {
  if (options.on_device == nullptr || options.where == Where::host || options.batch_size > kMostRows) return {};
  if (options.on_error == OnError::mark) return {};
  if (!options.mix.empty()) return {};  // rows are mixed as they are delivered
  if (options.where == Where::automatic && options.on_batch) return {};
  std::vector<FieldChain> chains = options.fields;
  bool any = false;
  const std::vector<std::uint32_t> windows = window_numbers(chains);
  for (std::size_t i = 0; i < chains.size(); ++i) {
    Chain& chain = chains[i].second;
    if (windows[i] != 0) continue;  // a row of several is no image
    if (auto points = points_before_device(chain, options.where)) {
      chain = std::move(*points);
      any = true;
      continue;
    }
    const auto before = steps_before_numbers(chain);
    if (!before) continue;
    chain.steps.resize(*before, step::ChannelsLast{});
    chain.steps.emplace_back(step::ChannelsLast{});
    any = true;
  }
  if (!any) return {};
  return chains;
}

std::optional<std::vector<DeviceOutput>> device_outputs(const LoaderOptions& options, std::span<const Output> host,
                                                        std::span<const Output> whole) {
  std::vector<DeviceOutput> outputs;
  for (std::size_t i = 0; i < host.size(); ++i) {
    outputs.push_back({.output = whole[i]});
    if (whole[i].window != 0) continue;
    const auto chain = std::ranges::find(options.fields, host[i].name, &FieldChain::first);
    if (chain == options.fields.end()) continue;
    if (points_before_device(chain->second, options.where)) {
      const auto pass = point_pass(*chain, host[i], whole[i]);
      if (!pass) return {};
      outputs.back().pass = *pass;
      continue;
    }
    if (!steps_before_numbers(chain->second)) continue;
    if (!fits(chain->second, host[i], whole[i])) return {};
    outputs.back().pass = pass_of(chain->second, host[i], whole[i]);
  }
  return outputs;
}

}  // namespace penstock
