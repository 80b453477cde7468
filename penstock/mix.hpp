// mixup() and cutmix(): ways to mix the rows of a batch.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <penstock/geometry.hpp>

namespace penstock {

/// One way to mix the rows of a batch; see mixup() and cutmix().
struct Mix {
  enum class Kind : std::uint8_t { mixup, cutmix };
  Kind kind = Kind::mixup;
  double alpha = 1;              ///< parameter of the distribution Beta(alpha, alpha); above 0
  std::int64_t num_classes = 0;  ///< at least 1
  friend bool operator==(const Mix&, const Mix&) = default;
};

/// Blends each row with the row before it (the first one with the last): lambda times itself plus 1 - lambda times the
/// other, for images and labels. A batch draws one lambda. Images must be floating point. Source:
/// torchvision.transforms.v2.MixUp.
Mix mixup(double alpha, std::int64_t num_classes);
/// Replaces a box of each image by that part of the row before it. The box covers 1 - lambda of the area before it is
/// clipped to the image. Labels are mixed in proportion to the visible areas. Source: torchvision.transforms.v2.CutMix.
Mix cutmix(double alpha, std::int64_t num_classes);

/// Writes "mixup(0.2, num_classes=1000)".
std::string to_string(const Mix& mix);
/// Parses the text that to_string() writes. Throws Error: invalid_argument.
Mix parse_mix(std::string_view text);
/// Throws Error: invalid_argument, if `alpha` or `num_classes` is out of range.
void check(const Mix& mix);

/// The random draw of one batch for mixup() or cutmix().
struct MixDraw {
  Mix::Kind kind;
  double lambda;  ///< the share of a row's own label
  Region box;     ///< for cutmix: the box taken from the row before; may be empty
};

}  // namespace penstock
