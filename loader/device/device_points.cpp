#include <algorithm>
#include <iterator>

#include <penstock/loader/device/device_points.hpp>
#include <penstock/transforms/chain/step_table.hpp>
#include <penstock/transforms/program/compile.hpp>
#include <penstock/transforms/program/points_program.hpp>

namespace penstock {
namespace {

/// Nothing where a device does not do the step.
std::optional<PointMove> move_of(const Step& step) {
  using Kind = PointMove::Kind;
  const auto move = [](Kind kind, double low = 0, double high = 0) {
    return PointMove{.kind = kind, .transform = 0, .low = low, .high = high};
  };
  if (step.is<step::Center>()) return move(Kind::center);
  if (step.is<step::UnitSphere>()) return move(Kind::unit_sphere);
  if (const auto* scale = step.as<step::Scale>()) return move(Kind::scale, scale->factor);
  if (const auto* scale = step.as<step::RandomScale>()) return move(Kind::random_scale, scale->low, scale->high);
  if (const auto* shift = step.as<step::Shift>()) return move(Kind::shift, shift->range);
  if (const auto* jitter = step.as<step::Jitter>()) return move(Kind::jitter, jitter->sigma, jitter->clip);
  const auto* rotate = step.as<step::Rotate>();
  if (rotate == nullptr) return std::nullopt;
  return move(rotate->about == step::Rotate::About::free ? Kind::rotate_free : Kind::rotate_about_z);
}

bool is_layout(const Step& step) {
  return step.is<step::Cast>() || step.is<step::ChannelsFirst>();
}

bool is_of_points(const Step& step) {
  return step.table().traits().domain == Domain::points;
}

bool makes_points(const Chain& chain) {
  const bool own = !chain.steps.empty() && chain.steps.front().is<step::OwnDecode>();
  return !chain.followed && chain.misuse.empty() && std::ranges::any_of(chain.steps, is_of_points) &&
         std::all_of(chain.steps.begin() + (own ? 1 : 0), chain.steps.end(),
                     [](const Step& step) { return is_of_points(step) || is_layout(step); });
}

/// The chain's last steps that are moves and then layout: from the first of them on.
std::size_t first_of_device(const Chain& chain) {
  std::size_t first = chain.steps.size();
  while (first > 0 && is_layout(chain.steps[first - 1])) --first;
  for (std::int32_t moves = 0; moves < PointPass::kMostMoves && first > 0; ++moves) {
    if (!move_of(chain.steps[first - 1])) break;
    --first;
  }
  return first;
}

}  // namespace

std::optional<Chain> points_before_device(const Chain& chain, Where where) {
  if (!makes_points(chain)) return std::nullopt;
  DType dtype = DType::f32;
  for (const Step& step : chain.steps) {
    if (const auto* cast = step.as<step::Cast>()) dtype = cast->dtype;
  }
  if (where == Where::automatic && size_of(dtype) < size_of(DType::f32)) return std::nullopt;
  const std::size_t first = first_of_device(chain);
  const bool moves = first < chain.steps.size() && !is_layout(chain.steps[first]);
  if (!moves && dtype == DType::f32) return std::nullopt;
  Chain before = chain;
  before.steps.erase(before.steps.begin() + static_cast<std::ptrdiff_t>(first), before.steps.end());
  if (!std::ranges::any_of(before.steps, is_of_points)) {  // then nothing would say that an array is one of points
    if (!before.steps.empty()) return std::nullopt;        // a codec of the user's own comes first
    before.steps.emplace_back(step::CloudDecode{});
  }
  return before;
}

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

}  // namespace penstock
