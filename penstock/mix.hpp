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
  double alpha = 1;              ///< of the distribution Beta(alpha, alpha); above 0
  std::int64_t num_classes = 0;  ///< at least 1
  friend bool operator==(const Mix&, const Mix&) = default;
};

/// Each row becomes lambda times itself and 1 - lambda times the row before it (the first one: the last), images and
/// labels; one lambda for the batch. Images must be floating point. Source: torchvision.transforms.v2.MixUp.
Mix mixup(double alpha, std::int64_t num_classes);
/// A box of the row before stands in each image, 1 - lambda of its area before it is clipped to the image; labels are
/// mixed by the area that is left. Source: torchvision.transforms.v2.CutMix.
Mix cutmix(double alpha, std::int64_t num_classes);

std::string to_string(const Mix& mix);  ///< "mixup(0.2, num_classes=1000)"
Mix parse_mix(std::string_view text);   ///< throws Error: invalid_argument
/// Throws Error: invalid_argument: alpha, num_classes.
void check(const Mix& mix);

/// What one batch draws.
struct MixDraw {
  Mix::Kind kind;
  double lambda;  ///< the share of a row's own label
  Region box;     ///< of cutmix: where the row before stands; may be empty
};

}  // namespace penstock
