// The plan of an image output, computed once from its chain and a first value.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <transforms/image/passes/pass_runner.hpp>
#include <transforms/image/steps/pixel_steps.hpp>
#include <transforms/program/compile.hpp>

namespace penstock {

struct NumberedErasing {
  step::RandomErasing step;
  std::uint32_t transform;
};

struct ImagePlan {
  PixelSteps steps{};
  std::vector<NumberedErasing> erasings{};
  Size size{};            ///< of every row
  bool own_size = false;  ///< rows have separate sizes
  std::int64_t decoded;   ///< channels before the steps: 1 or 3
  std::int64_t channels;  ///< delivered channels: 1 or 3
  PixelSink sink{};       ///< without its memory
  bool fast = false;      ///< JPEG files may be decoded smaller
  bool deep = false;      ///< pixels have 16 bits; 8-bit pixels are multiplied by 257
  DecodeOptions decoding{};
  std::shared_ptr<const Codec> codec{};  ///< the user's codec; null: the field's own
};

/// Returns the options to decode images of this chain.
DecodeOptions image_decoding(const Chain& chain);

/// `first` is the layout of some value, decoded with `decoding`. Throws Error: invalid_argument, if steps fit neither
/// each other nor such images.
ImagePlan plan_image(const OutputRequest& request, const DecodeOptions& decoding, const Layout& first);

}  // namespace penstock
