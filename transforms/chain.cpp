#include <algorithm>

#include <penstock/transforms/chain.hpp>

namespace penstock {
namespace {

Chain one(Step step) {
  Chain chain;
  chain.steps.push_back(std::move(step));
  return chain;
}

}  // namespace

Chain operator|(Chain left, const Chain& right) {
  if (left.misuse.empty()) left.misuse = right.misuse;
  if (!right.sources.empty()) {
    if (!left.sources.empty() || !left.steps.empty()) left.misuse = "field() must come first in a chain, and once";
    left.sources = right.sources;
  }
  if (right.followed) {
    if (left.followed || !left.steps.empty()) left.misuse = "follow() must come before the steps of a chain, and once";
    left.followed = right.followed;
  }
  left.steps.insert(left.steps.end(), right.steps.begin(), right.steps.end());
  return left;
}

Chain field(const std::string& alternatives) {
  Chain chain;
  std::size_t begin = 0;
  while (begin <= alternatives.size()) {
    const std::size_t end = std::min(alternatives.find('|', begin), alternatives.size());
    chain.sources.push_back(alternatives.substr(begin, end - begin));
    if (chain.sources.back().empty()) chain.misuse = "field(\"" + alternatives + "\") has an empty name";
    begin = end + 1;
  }
  return chain;
}

Chain follow(const std::string& output) {
  Chain chain;
  chain.followed = output;
  return chain;
}

Chain label() {
  return one(step::Label{});
}

Chain raw() {
  return one(step::Raw{});
}

Chain boxes() {
  return one(step::Boxes{});
}

Chain key_points() {
  return one(step::Points{});
}

Chain decode(std::shared_ptr<const Codec> codec) {
  const bool given = codec != nullptr;
  Chain chain = one(step::OwnDecode{.codec = std::move(codec)});
  if (!given) chain.misuse = "decode() needs a codec";
  return chain;
}

Chain transform(std::shared_ptr<const Transform> transform) {
  const bool given = transform != nullptr;
  Chain chain = one(step::OwnTransform{.transform = std::move(transform)});
  if (!given) chain.misuse = "transform() needs a transform";
  return chain;
}

namespace image {

Chain decode() {
  return one(step::Decode{});
}

Chain random_resized_crop(std::int64_t size, std::pair<double, double> scale, std::pair<double, double> ratio) {
  return random_resized_crop(size, size, scale, ratio);
}

Chain random_resized_crop(std::int64_t height, std::int64_t width, std::pair<double, double> scale,
                          std::pair<double, double> ratio) {
  return one(step::RandomResizedCrop{.width = width,
                                     .height = height,
                                     .scale_min = scale.first,
                                     .scale_max = scale.second,
                                     .ratio_min = ratio.first,
                                     .ratio_max = ratio.second});
}

Chain resize(std::int64_t short_side) {
  Chain chain = one(step::Resize{.short_side = short_side, .width = 0, .height = 0});
  if (short_side <= 0) chain.misuse = "image.resize() needs a size of at least 1 pixel";
  return chain;
}

Chain resize(std::int64_t height, std::int64_t width) {
  return one(step::Resize{.short_side = 0, .width = width, .height = height});
}

Chain center_crop(std::int64_t size) {
  return one(step::CenterCrop{.width = size, .height = size});
}

Chain random_flip(double probability) {
  return one(step::RandomFlip{.probability = probability});
}

Chain normalize(std::vector<float> mean, std::vector<float> stddev) {
  return one(step::Normalize{.mean = std::move(mean), .stddev = std::move(stddev)});
}

Chain cast(DType dtype) {
  return one(step::Cast{.dtype = dtype});
}

Chain channels_last() {
  return one(step::ChannelsLast{});
}

}  // namespace image

namespace array {

Chain decode() {
  return one(step::Elements{});
}

Chain random_window(std::int64_t rows) {
  return one(step::Window{.rows = rows});
}

Chain cast(DType dtype) {
  return one(step::Cast{.dtype = dtype});
}

}  // namespace array

}  // namespace penstock
