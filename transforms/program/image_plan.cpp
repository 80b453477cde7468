#include <algorithm>
#include <cmath>
#include <optional>

#include <penstock/error.hpp>
#include <transforms/chain/step_table.hpp>
#include <transforms/elements.hpp>
#include <transforms/image/codecs/channels.hpp>
#include <transforms/image/steps/pixel_step.hpp>
#include <transforms/program/image_plan.hpp>

namespace penstock {
namespace {

// Computes scale and bias so that pixel * scale + bias equals (pixel / 255 - mean) / deviation.
void normalize(const step::Normalize& step, std::int64_t channels, PixelSink& sink) {
  for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c) {
    const double deviation = step.stddev[c], mean = step.mean[c];
    sink.scale[c] = static_cast<float>(1.0 / (255.0 * deviation));
    sink.bias[c] = static_cast<float>(-mean / deviation);
  }
  sink.dtype = DType::f32;
}

// The order that steps must keep: decoding, pixels, numbers, layout and erasing.
int rank_of(const Step& step) {
  if (step.is<step::Decode>() || step.is<step::OwnDecode>()) return 0;
  if (step.table().pixels() != nullptr) return 1;
  if (step.is<step::Normalize>()) return 2;
  if (step.is<step::Cast>()) return 3;
  return 4;
}

// Layout and erasing may come before numbers too, unless normalize() would change the erased values.
bool may_follow(const Step& before, const Step& now) {
  const int first = rank_of(before), second = rank_of(now);
  if (first == 4 && second == 4) return now.is<step::RandomErasing>() || &before.table() != &now.table();
  if (first == 4) return second == 3 || (second == 2 && before.is<step::ChannelsLast>());
  return second == 1 ? first <= 1 : second > first;
}

// Checks the number of given colours against the number of channels at the step.
void check_colors(const OutputRequest& request, std::size_t given, std::int64_t channels, const Step& step) {
  if (given > 1 && given != static_cast<std::size_t>(channels))
    throw request.misuse(to_string(step) + " has values for " + std::to_string(given) +
                         " channels, but the pixels have " + std::to_string(channels));
}

void check_erasing(const OutputRequest& request, const step::RandomErasing& erasing, const ImagePlan& plan) {
  check_colors(request, erasing.value.size(), plan.channels, erasing);
  if (plan.sink.dtype != DType::u8) return;
  if (erasing.value.empty())
    throw request.misuse(
        "image.random_erasing() with random values requires image.normalize() or image.cast() before it");
  for (const double value : erasing.value) {
    if (value < 0 || value > 255 || value != std::trunc(value))
      throw request.misuse("image.random_erasing() of uint8 pixels requires values from 0 to 255");
  }
}

// Returns whether all steps move pixels without changing their numbers.
bool moves_only(const Chain& chain) {
  return std::ranges::all_of(chain.steps, [](const Step& step) {
    const PixelStep* pixels = step.table().pixels();
    return pixels == nullptr || pixels->moves_only(step);
  });
}

ImagePlan plan_steps(const OutputRequest& request, std::int64_t decoded, std::int64_t delivered) {
  ImagePlan plan{.decoded = decoded, .channels = delivered};
  const auto& steps = request.chain.steps;
  bool normalized = false;
  std::int64_t channels = decoded;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (i > 0 && !may_follow(steps[i - 1], steps[i])) {
      const bool order = rank_of(steps[i]) < rank_of(steps[i - 1]);
      throw request.misuse(to_string(steps[i]) + (order ? " must come before " : " cannot come after ") +
                           to_string(steps[i - 1]));
    }
    if (const PixelStep* pixels = steps[i].table().pixels()) {
      if (const Fill* fill = pixels->fill(steps[i])) check_colors(request, fill->size(), channels, steps[i]);
      plan.steps.add(steps[i], request.transform_id(i));
      channels = pixels->channels_after(steps[i], channels);
    }
    if (const auto* step = steps[i].as<step::Decode>()) {
      plan.fast = step->fast;
      plan.own_size = step->ragged;
    }
    if (const auto* step = steps[i].as<step::Normalize>()) {
      if (!plan.erasings.empty())
        throw request.misuse(to_string(steps[i]) + " must come before " + to_string(plan.erasings.front().step));
      normalize(*step, delivered, plan.sink);
      normalized = true;
    }
    if (const auto* step = steps[i].as<step::Cast>()) {
      const DType dtype = step->dtype;
      const bool known = dtype == DType::u8 || dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
      if (!known && dtype != DType::u16)
        throw request.misuse("images can be cast to float32, float16, bfloat16, uint8 or uint16");
      if (normalized && is_integer(dtype))
        throw request.misuse("normalized values cannot be cast to " + std::string(name(dtype)));
      if (dtype == DType::u16 && !moves_only(request.chain))
        throw request.misuse("only image.center_crop(), image.random_crop() without padding, and flips keep 16 bits");
      plan.sink.dtype = dtype;
    }
    if (steps[i].is<step::ChannelsLast>()) plan.sink.channels_last = true;
    if (const auto* step = steps[i].as<step::RandomErasing>())
      plan.erasings.push_back({*step, request.transform_id(i)});
  }
  for (const NumberedErasing& erasing : plan.erasings) check_erasing(request, erasing.step, plan);
  return plan;
}

// Returns whether the 16 bits of a first value, or those that cast() requests, are kept. They are not if cast()
// requests 8 bits or pixels are computed.
bool keeps_16_bits(const OutputRequest& request, const DecodeOptions& decoding) {
  if (request.own_codec() != nullptr || !moves_only(request.chain)) return false;
  if (const auto* cast = find_step<step::Cast>(request.chain)) {
    if (is_integer(cast->dtype)) return cast->dtype == DType::u16;
  }
  DecodeOptions stored = decoding;
  stored.pixels = Pixels::stored;
  const FirstValue first = request.probe(stored);
  return first.layout && first.layout->image && first.layout->dtype == DType::u16;
}

// Plans 16-bit pixels.
void deepen(const OutputRequest& request, ImagePlan& plan) {
  plan.deep = true;
  if (plan.sink.dtype == DType::u8) plan.sink.dtype = DType::u16;
  if (plan.sink.dtype == DType::u16 && !plan.erasings.empty())
    throw request.misuse("image.random_erasing() cannot be applied to uint16 pixels; add image.cast(\"uint8\")");
  if (find_step<step::Normalize>(request.chain) == nullptr) return;
  for (float& scale : plan.sink.scale) scale = static_cast<float>(double{scale} * 255 / 65535);
}

/// The chain's requirements on the channels of its pixels.
struct Channels {
  std::size_t means = 0;  ///< number of means of normalize()
  bool to_gray = false;   ///< has grayscale(1)
  bool to_three = false;  ///< has grayscale(3)

  explicit Channels(const Chain& chain) {
    for (const Step& step : chain.steps) {
      if (const auto* normalize = step.as<step::Normalize>()) means = normalize->mean.size();
      if (const auto* gray = step.as<step::Grayscale>()) (gray->channels == 1 ? to_gray : to_three) = true;
    }
  }
};

// One mean requests gray levels as stored, unless a step computes them. Other chains get colour.
DecodeOptions decoding_of(const Chain& chain, const Channels& channels) {
  DecodeOptions options;
  if (channels.means == 1 && !channels.to_gray) options.pixels = Pixels::stored;
  for (const Step& step : chain.steps) {
    if (const auto* decode = step.as<step::Decode>()) options.upright = decode->upright;
  }
  return options;
}

std::int64_t decoded_channels(const OutputRequest& request, const Channels& asked, std::int64_t found) {
  if (asked.to_three || (asked.means == 3 && !asked.to_gray)) return 3;
  if (asked.means == 1 && !asked.to_gray && found != 1)
    throw request.misuse("image.normalize() has 1 mean, but the images have " + std::to_string(found) + " channels");
  return found == 1 ? 1 : 3;
}

std::int64_t delivered_channels(const OutputRequest& request, const Channels& asked, std::int64_t decoded) {
  const std::int64_t delivered = asked.to_gray ? 1 : decoded;
  if (asked.means != 0 && static_cast<std::int64_t>(asked.means) != delivered)
    throw request.misuse("image.normalize() has " + std::to_string(asked.means) +
                         " means, but image.grayscale() leaves " + std::to_string(delivered) + " channels");
  return delivered;
}

PixelGrid pixels_of_first(const OutputRequest& request, const Layout& first) {
  try {
    return pixels_of(first);
  } catch (const Error& error) {
    throw request.misuse("field \"" + request.schema().name + "\" " + error.cause());
  }
}

}  // namespace

DecodeOptions image_decoding(const Chain& chain) {
  return decoding_of(chain, Channels(chain));
}

ImagePlan plan_image(const OutputRequest& request, const DecodeOptions& decoding, const Layout& first) {
  const Channels asked(request.chain);
  const PixelGrid found = pixels_of_first(request, first);
  const std::int64_t decoded = decoded_channels(request, asked, found.channels);
  ImagePlan plan = plan_steps(request, decoded, delivered_channels(request, asked, decoded));
  plan.decoding = decoding;
  plan.codec = request.own_codec();
  if (keeps_16_bits(request, decoding)) deepen(request, plan);
  if (const std::optional<Size> fixed = plan.steps.fixed_size()) {
    plan.size = *fixed;
  } else {
    Placement placement;
    plan.steps.draw(found.size, {}, placement);
    plan.size = placement.output();
  }
  return plan;
}

}  // namespace penstock
