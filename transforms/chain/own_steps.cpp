#include <penstock/codec.hpp>
#include <penstock/steps.hpp>
#include <penstock/transform.hpp>
#include <transforms/chain/parameter.hpp>

namespace penstock {
namespace {

template <typename Part>
std::string text_of(const char* step, const Part* part) {
  const std::string what = part == nullptr ? "" : std::string(part->name()) + " " + std::to_string(part->version());
  return step + ("(" + what + ")");
}

}  // namespace

const StepTable& step::OwnDecode::table() {
  static const TableOf<OwnDecode> table{"decode", "A custom codec."};
  return table;
}

std::string step::OwnDecode::own_text() const {
  return text_of("decode", codec.get());
}

const StepTable& step::OwnTransform::table() {
  static const TableOf<OwnTransform> table{"transform", "A custom transform."};
  return table;
}

std::string step::OwnTransform::own_text() const {
  return text_of("transform", transform.get());
}

Chain decode(std::shared_ptr<const Codec> codec) {
  if (codec == nullptr) throw Error::invalid_argument("decode() needs a codec");
  return one_step(step::OwnDecode{.codec = std::move(codec)});
}

Chain transform(std::shared_ptr<const Transform> transform) {
  if (transform == nullptr) throw Error::invalid_argument("transform() needs a transform");
  return one_step(step::OwnTransform{.transform = std::move(transform)});
}

}  // namespace penstock
