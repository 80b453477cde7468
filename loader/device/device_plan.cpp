#include <algorithm>
#include <utility>

#include <device/passes.hpp>
#include <loader/device/device_plan.hpp>
#include <transforms/chain/step_table.hpp>
#include <transforms/chain/window.hpp>
#include <transforms/program/compile.hpp>
#include <transforms/program/points_program.hpp>

namespace penstock {
namespace {

/// Returns nothing if a device cannot do the step.
std::optional<PointMove> move_of(const Step& step) {
  using Kind = PointMove::Kind;
  const auto move = [](Kind kind, double low = 0, double high = 0) {
    return PointMove{.kind = kind, .transform = 0, .low = low, .high = high};
  };
  if (step.is<step::Center>()) return move(Kind::center);
  if (step.is<step::UnitSphere>()) return move(Kind::unit_sphere);
  if (const auto* scale = step.as<step::Scale>()) return move(Kind::scale, scale->factor);
  if (const auto* scale = step.as<step::RandomScale>()) return move(Kind::random_scale, scale->low, scale->high);
  if (const auto* shift = step.as<step::RandomShift>()) return move(Kind::shift, shift->range);
  if (const auto* jitter = step.as<step::RandomJitter>()) return move(Kind::jitter, jitter->sigma, jitter->clip);
  const auto* rotate = step.as<step::RandomRotate>();
  if (rotate == nullptr) return std::nullopt;
  return move(rotate->about == step::RandomRotate::About::free ? Kind::rotate_free : Kind::rotate_about_z);
}

bool is_layout(const Step& step) {
  return step.is<step::Cast>() || step.is<step::ChannelsFirst>();
}

bool is_of_points(const Step& step) {
  return step.traits().domain == Domain::points;
}

bool makes_points(const Chain& chain) {
  const bool own = !chain.steps.empty() && chain.steps.front().is<step::OwnDecode>();
  return !chain.followed && chain.misuse.empty() && std::ranges::any_of(chain.steps, is_of_points) &&
         std::all_of(chain.steps.begin() + (own ? 1 : 0), chain.steps.end(),
                     [](const Step& step) { return is_of_points(step) || is_layout(step); });
}

/// Returns the index of the first step that a device runs at the chain's end: moves, then layout.
std::size_t first_of_device(const Chain& chain) {
  std::size_t first = chain.steps.size();
  while (first > 0 && is_layout(chain.steps[first - 1])) --first;
  for (std::int32_t moves = 0; moves < PointPass::kMostMoves && first > 0; ++moves) {
    if (!move_of(chain.steps[first - 1])) break;
    --first;
  }
  return first;
}

/// Returns the chain that the host runs: without the last steps that a pass can do, and with float32 points as its
/// result. Returns nothing if no step remains for a device. With FinishOn::automatic, it also returns nothing for
/// float16 and bfloat16 results, because the host's result has half of the bytes to copy.
std::optional<Chain> points_before_device(const Chain& chain, FinishOn where) {
  if (!makes_points(chain)) return std::nullopt;
  DType dtype = DType::f32;
  for (const Step& step : chain.steps) {
    if (const auto* cast = step.as<step::Cast>()) dtype = cast->dtype;
  }
  if (where == FinishOn::automatic && size_of(dtype) < size_of(DType::f32)) return std::nullopt;
  const std::size_t first = first_of_device(chain);
  const bool moves = first < chain.steps.size() && !is_layout(chain.steps[first]);
  if (!moves && dtype == DType::f32) return std::nullopt;
  Chain before = chain;
  before.steps.erase(before.steps.begin() + static_cast<std::ptrdiff_t>(first), before.steps.end());
  if (!std::ranges::any_of(before.steps, is_of_points)) {  // otherwise no step says that the array contains points
    if (!before.steps.empty()) return std::nullopt;        // a user's codec comes first
    before.steps.emplace_back(step::CloudDecode{});
  }
  return before;
}

/// Returns the pass that makes `whole` of `host`, for a chain cut by points_before_device(). Pointers, sizes and key
/// are not set. Returns nothing if the shapes do not fit.
std::optional<PointPass> point_pass(const FieldChain& output, const Output& host, const Output& whole) {
  const auto& [name, chain] = output;
  const bool channels_first = find_step<step::ChannelsFirst>(chain) != nullptr;
  const std::size_t axes = host.ragged ? 1 : 2;
  if (host.dtype != DType::f32 || host.shape.size() != axes || host.ragged != whole.ragged) return std::nullopt;
  Shape expected = host.shape;
  if (channels_first) std::ranges::reverse(expected);
  if (whole.shape != expected) return std::nullopt;
  PointPass pass;
  pass.columns = static_cast<std::int32_t>(host.shape.back());
  pass.dtype = whole.dtype;
  pass.channels_first = channels_first;
  if (const auto* decode = find_step<step::CloudDecode>(chain)) {
    pass.normals = static_cast<std::int32_t>(normals_column(decode->attributes));
  }
  for (std::size_t i = first_of_device(chain); i < chain.steps.size() && !is_layout(chain.steps[i]); ++i) {
    PointMove& move = pass.move[pass.moves++];
    move = *move_of(chain.steps[i]);
    move.transform = transform_id(name, i);
  }
  return pass;
}

constexpr std::uint32_t kMostRows = 65'535;  // limit of a pass

bool is_layout_or_number(const Step& step) {
  return step.is<step::Normalize>() || step.is<step::Cast>() || step.is<step::ChannelsLast>();
}

/// Returns the number of steps before normalize(), cast() and layout, if only such steps follow and the result is not
/// uint8.
std::optional<std::size_t> steps_before_numbers(const Chain& chain) {
  const auto first = std::ranges::find_if(chain.steps, is_layout_or_number);
  if (chain.followed || !chain.misuse.empty() || !std::all_of(first, chain.steps.end(), is_layout_or_number)) return {};
  const auto* decode = find_step<step::Decode>(chain);
  if (decode != nullptr && decode->ragged) return {};
  const auto* cast = find_step<step::Cast>(chain);
  if (cast == nullptr && find_step<step::Normalize>(chain) == nullptr) return {};
  if (cast != nullptr && cast->dtype != DType::f32 && cast->dtype != DType::f16 && cast->dtype != DType::bf16)
    return {};
  const auto is_pixels = [](const Step& step) { return step.traits().before_device; };
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

// Whether a number fills rows of the output, or would if it fitted: the number fits the complete chain's dtype only.
bool is_filled(const Output& output) {
  return output.fill || !output.unfilled.empty();
}

}  // namespace

std::optional<std::vector<FieldChain>> chains_before_device(const LoaderOptions& options,
                                                            std::span<const Output> whole) {
  if (options.device_options.opened == nullptr || options.device_options.finish_on == FinishOn::host ||
      options.batch_size > kMostRows)
    return {};
  if (options.on_error == OnError::mark) return {};
  if (!options.mix.empty()) return {};  // rows are mixed in the form in which they are delivered
  if (options.device_options.finish_on == FinishOn::automatic && options.batch_transform) return {};
  std::vector<FieldChain> chains = options.transforms;
  bool any = false;
  const std::vector<std::uint32_t> windows = window_numbers(chains);
  for (std::size_t i = 0; i < chains.size(); ++i) {
    Chain& chain = chains[i].second;
    if (windows[i] != 0) continue;  // a row of a window has several images
    if (is_filled(whole[i])) continue;
    if (auto points = points_before_device(chain, options.device_options.finish_on)) {
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
    if (whole[i].window != 0 || is_filled(whole[i])) continue;
    const auto chain = std::ranges::find(options.transforms, host[i].name, &FieldChain::first);
    if (chain == options.transforms.end()) continue;
    if (points_before_device(chain->second, options.device_options.finish_on)) {
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
