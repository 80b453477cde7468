#include <utility>

#include <penstock/base/error.hpp>
#include <penstock/transforms/chain/chain.hpp>
#include <penstock/transforms/chain/check_numbers.hpp>

namespace penstock {

Chain label(std::int64_t classes) {
  return one_step(step::Label{.classes = classes});
}

Chain raw() {
  return one_step(step::Raw{});
}

Chain boxes() {
  return one_step(step::Boxes{});
}

Chain key_points() {
  return one_step(step::Points{});
}

Chain decode(std::shared_ptr<const Codec> codec) {
  if (codec == nullptr) throw Error::invalid_argument("decode() needs a codec");
  return one_step(step::OwnDecode{.codec = std::move(codec)});
}

Chain transform(std::shared_ptr<const Transform> transform) {
  if (transform == nullptr) throw Error::invalid_argument("transform() needs a transform");
  return one_step(step::OwnTransform{.transform = std::move(transform)});
}

namespace array {

Chain decode() {
  return one_step(step::Elements{});
}

Chain random_window(std::int64_t rows) {
  return one_step(step::Window{.rows = rows});
}

Chain cast(DType dtype) {
  return one_step(step::Cast{.dtype = dtype});
}

}  // namespace array

}  // namespace penstock
