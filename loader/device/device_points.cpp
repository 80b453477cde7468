#include <algorithm>
#include <iterator>
#include <variant>

#include <penstock/loader/device/device_points.hpp>
#include <penstock/transforms/clouds/steps/point_steps.hpp>
#include <penstock/transforms/program/compile.hpp>
#include <penstock/transforms/program/points_program.hpp>

namespace penstock {
namespace {

struct MoveOf {
  using Kind = PointMove::Kind;
  std::optional<PointMove> operator()(const step::Center&) const { return move(Kind::center); }
  std::optional<PointMove> operator()(const step::UnitSphere&) const { return move(Kind::unit_sphere); }
  std::optional<PointMove> operator()(const step::Scale& scale) const { return move(Kind::scale, scale.factor); }
  std::optional<PointMove> operator()(const step::RandomScale& scale) const {
    return move(Kind::random_scale, scale.low, scale.high);
  }
  std::optional<PointMove> operator()(const step::Shift& shift) const { return move(Kind::shift, shift.range); }
  std::optional<PointMove> operator()(const step::Rotate& rotate) const {
    return move(rotate.free ? Kind::rotate_free : Kind::rotate_about_z);
  }
  std::optional<PointMove> operator()(const step::Jitter& jitter) const {
    return move(Kind::jitter, jitter.sigma, jitter.clip);
  }
  template <typename Other>
  std::optional<PointMove> operator()(const Other&) const {
    return std::nullopt;
  }

 private:
  static PointMove move(Kind kind, double low = 0, double high = 0) {
    return {.kind = kind, .transform = 0, .low = low, .high = high};
  }
};

bool is_layout(const Step& step) {
  return std::holds_alternative<step::Cast>(step) || std::holds_alternative<step::ChannelsFirst>(step);
}

bool is_of_points(const Step& step) {
  return is_point_step(step) || std::holds_alternative<step::CloudDecode>(step) ||
         std::holds_alternative<step::Surface>(step) || std::holds_alternative<step::ChannelsFirst>(step);
}

bool makes_points(const Chain& chain) {
  const bool own = !chain.steps.empty() && std::holds_alternative<step::OwnDecode>(chain.steps.front());
  return !chain.followed && chain.misuse.empty() && std::ranges::any_of(chain.steps, is_of_points) &&
         std::all_of(chain.steps.begin() + (own ? 1 : 0), chain.steps.end(),
                     [](const Step& step) { return is_of_points(step) || is_layout(step); });
}

/// The chain's last steps that are moves and then layout: from the first of them on.
std::size_t first_of_device(const Chain& chain) {
  std::size_t first = chain.steps.size();
  while (first > 0 && is_layout(chain.steps[first - 1])) --first;
  for (std::int32_t moves = 0; moves < PointPass::kMostMoves && first > 0; ++moves) {
    if (!std::visit(MoveOf{}, chain.steps[first - 1])) break;
    --first;
  }
  return first;
}

}  // namespace

std::optional<Chain> points_before_device(const Chain& chain, Where where) {
  if (!makes_points(chain)) return std::nullopt;
  DType dtype = DType::f32;
  for (const Step& step : chain.steps) {
    if (const auto* cast = std::get_if<step::Cast>(&step)) dtype = cast->dtype;
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
    move = *std::visit(MoveOf{}, chain.steps[i]);
    move.transform = transform_id(name, i);
  }
  return pass;
}

}  // namespace penstock
