// What an output of images becomes, worked out once from its chain and from a first value.
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
  bool own_size = false;  ///< rows have sizes of their own
  std::int64_t decoded;   ///< channels that the steps begin with: 1 or 3
  std::int64_t channels;  ///< delivered: 1 or 3
  PixelSink sink{};       ///< without its memory
  bool fast = false;      ///< JPEGs may be decoded smaller
  bool deep = false;      ///< pixels have 16 bits: those of 8 are multiplied by 257
  DecodeOptions decoding{};
  std::shared_ptr<const Codec> codec{};  ///< the user's own; null: the field's
};

/// How images of this chain are decoded.
DecodeOptions image_decoding(const Chain& chain);

/// `first`: the layout of some value, decoded as `decoding` says. Throws Error: invalid_argument, for steps that do not
/// fit each other or such images.
ImagePlan plan_image(const OutputRequest& request, const DecodeOptions& decoding, const Layout& first);

}  // namespace penstock
