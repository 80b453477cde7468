// Codecs and transforms of the user's own, as steps of a chain.
#pragma once

#include <memory>

#include <penstock/transforms/chain/step.hpp>

namespace penstock {

class Codec;      // penstock/transforms/codec.hpp
class Transform;  // penstock/transforms/transform.hpp

namespace step {
struct OwnDecode {
  std::shared_ptr<const Codec> codec;
  static const StepTable& table();
  std::string own_text() const;
};
struct OwnTransform {
  std::shared_ptr<const Transform> transform;
  static const StepTable& table();
  std::string own_text() const;
};
}  // namespace step

/// First in a chain: the field's bytes are read by a codec of the user's own, whatever they look like. The steps for
/// images may follow where its layouts say `image`, those for arrays where they do not.
Chain decode(std::shared_ptr<const Codec> codec);
/// Last in a chain, any number of them: transforms of the user's own, of what the steps before them give.
Chain transform(std::shared_ptr<const Transform> transform);

}  // namespace penstock
