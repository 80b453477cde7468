#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include <base/numbers/portable_math.hpp>
#include <penstock/error.hpp>
#include <transforms/elements.hpp>
#include <transforms/mix.hpp>
#include <transforms/normal_draws.hpp>

namespace penstock {
namespace {

std::string_view name(Mix::Kind kind) {
  return kind == Mix::Kind::mixup ? "mixup" : "cutmix";
}

std::string text(double value) {
  for (int digits = 1;; ++digits) {
    std::array<char, 40> written{};
    std::snprintf(written.data(), written.size(), "%.*g", digits, value);
    if (digits == 17 || std::strtod(written.data(), nullptr) == value) return written.data();
  }
}

// Source: Marsaglia and Tsang, for shapes above 1.
double draw_gamma(double shape, Random& random) {
  const double d = shape - 1.0 / 3.0, c = 1.0 / std::sqrt(9.0 * d);
  for (;;) {
    const double normal = draw_normals(random).first, root = 1 + c * normal;
    if (root <= 0) continue;
    const double v = root * root * root, u = 1 - random.uniform();
    if (portable::log(u) < 0.5 * normal * normal + d - d * v + d * portable::log(v)) return d * v;
  }
}

Region box_of(double lambda, Size image, Random& random) {
  const auto x = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(image.width)));
  const auto y = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(image.height)));
  const double reach = 0.5 * std::sqrt(1.0 - lambda);
  const auto half_width = static_cast<std::int64_t>(reach * static_cast<double>(image.width));
  const auto half_height = static_cast<std::int64_t>(reach * static_cast<double>(image.height));
  const std::int64_t left = std::max<std::int64_t>(x - half_width, 0), right = std::min(x + half_width, image.width);
  const std::int64_t top = std::max<std::int64_t>(y - half_height, 0), end = std::min(y + half_height, image.height);
  return {left, top, right - left, end - top};
}

}  // namespace

Mix mixup(double alpha, std::int64_t num_classes) {
  return {Mix::Kind::mixup, alpha, num_classes};
}

Mix cutmix(double alpha, std::int64_t num_classes) {
  return {Mix::Kind::cutmix, alpha, num_classes};
}

std::string to_string(const Mix& mix) {
  return std::string(name(mix.kind)) + "(" + text(mix.alpha) + ", num_classes=" + std::to_string(mix.num_classes) + ")";
}

Mix parse_mix(std::string_view given) {
  for (const Mix::Kind kind : {Mix::Kind::mixup, Mix::Kind::cutmix}) {
    const std::string begin = std::string(name(kind)) + "(";
    if (!given.starts_with(begin) || !given.ends_with(")")) continue;
    const std::string inside(given.substr(begin.size(), given.size() - begin.size() - 1));
    char* end = nullptr;
    const double alpha = std::strtod(inside.c_str(), &end);
    constexpr std::string_view kClasses = ", num_classes=";
    if (end == inside.c_str() || !std::string_view(end).starts_with(kClasses)) break;
    const char* digits = end + kClasses.size();
    const std::int64_t num_classes = std::strtoll(digits, &end, 10);
    if (end == digits || *end != '\0') break;
    const Mix mix{kind, alpha, num_classes};
    check(mix);
    return mix;
  }
  throw Error::invalid_argument(
      "\"" + std::string(given) +
      "\" is not a mix; expected mixup(ALPHA, num_classes=N) or cutmix(ALPHA, num_classes=N)");
}

void check(const Mix& mix) {
  const std::string step(name(mix.kind));
  constexpr double kLeast = 1e-300;  // the logarithm of a draw, divided by it, is still finite
  if (!(mix.alpha >= kLeast && mix.alpha <= 1e6))
    throw Error::invalid_argument(step + "(): alpha must be above 0 and at most 1e6");
  if (mix.num_classes < 1) throw Error::invalid_argument(step + "(): num_classes must be at least 1");
}

double draw_beta(double alpha, Random& random) {
  if (alpha > 1) {
    const double one = draw_gamma(alpha, random), other = draw_gamma(alpha, random);
    return one / (one + other);
  }
  for (;;) {
    const double one = portable::log(1 - random.uniform()) / alpha, other = portable::log(1 - random.uniform()) / alpha;
    if (portable::exp(one) + portable::exp(other) > 1) continue;
    const double most = std::max(one, other);  // for small alphas, keeps both powers from vanishing
    return portable::exp(one - most) / (portable::exp(one - most) + portable::exp(other - most));
  }
}

MixDraw draw_mix(std::span<const Mix> mixes, Size image, Random& random) {
  const Mix& mix = mixes.size() == 1 ? mixes[0] : mixes[random.below(mixes.size())];
  const double lambda = draw_beta(mix.alpha, random);
  if (mix.kind == Mix::Kind::mixup) return {mix.kind, lambda, {}};
  const Region box = box_of(lambda, image, random);
  const double covered = static_cast<double>(box.width * box.height);
  return {mix.kind, 1.0 - covered / static_cast<double>(image.width * image.height), box};
}

void mix_rows(std::byte* row, const std::byte* other, DType dtype, std::uint64_t count, double lambda) {
  const auto own = static_cast<float>(lambda), rest = static_cast<float>(1.0 - lambda);
  if (dtype == DType::f32) {
    auto* values = reinterpret_cast<float*>(row);
    const auto* others = reinterpret_cast<const float*>(other);
    for (std::uint64_t i = 0; i < count; ++i) values[i] = others[i] * rest + values[i] * own;
    return;
  }
  constexpr std::uint64_t kSome = 1024;
  std::array<float, kSome> values, others;
  for (std::uint64_t at = 0; at < count; at += kSome) {
    const std::uint64_t some = std::min(kSome, count - at);
    std::byte* place = row + at * size_of(dtype);
    convert_elements(place, dtype, reinterpret_cast<std::byte*>(values.data()), DType::f32, some);
    convert_elements(other + at * size_of(dtype), dtype, reinterpret_cast<std::byte*>(others.data()), DType::f32, some);
    for (std::uint64_t i = 0; i < some; ++i) values[i] = others[i] * rest + values[i] * own;
    convert_elements(reinterpret_cast<const std::byte*>(values.data()), DType::f32, place, dtype, some);
  }
}

void paste_box(const TensorView& image, const std::byte* other, const Region& box, bool channels_last) {
  const auto height = static_cast<std::uint64_t>(image.shape[channels_last ? 0 : 1]);
  const auto width = static_cast<std::uint64_t>(image.shape[channels_last ? 1 : 2]);
  const auto channels = static_cast<std::uint64_t>(image.shape[channels_last ? 2 : 0]);
  const std::uint64_t pixel = size_of(image.dtype) * (channels_last ? channels : 1);
  for (std::uint64_t plane = 0; plane < (channels_last ? 1 : channels); ++plane) {
    for (std::int64_t y = box.y; y < box.y + box.height; ++y) {
      const std::uint64_t row = (plane * height + static_cast<std::uint64_t>(y)) * width;
      const std::uint64_t at = (row + static_cast<std::uint64_t>(box.x)) * pixel;
      std::memcpy(image.data + at, other + at, static_cast<std::uint64_t>(box.width) * pixel);
    }
  }
}

}  // namespace penstock
