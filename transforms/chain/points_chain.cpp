#include <penstock/transforms/chain/chain.hpp>

namespace penstock::points {
namespace {

Chain one(Step step) {
  Chain chain;
  chain.steps.push_back(std::move(step));
  return chain;
}

std::optional<FewPoints> few_named(std::string_view name) {
  if (name == "repeat") return FewPoints::repeat;
  if (name == "ragged") return FewPoints::ragged;
  if (name == "raise") return FewPoints::raise;
  return std::nullopt;
}

}  // namespace

Chain decode(std::vector<std::string> attributes, std::int64_t columns) {
  return one(step::CloudDecode{.attributes = std::move(attributes), .columns = columns});
}

Chain sample(std::int64_t points, const std::string& method, const SampleKeywords& keywords) {
  const auto known_method = sample_method_named(method);
  const auto known_voxel = voxel_point_named(keywords.voxel);
  const auto known_few = few_named(keywords.few);
  Chain chain = one(step::Sample{.options = {.method = known_method.value_or(SampleMethod::random),
                                             .points = points,
                                             .size = keywords.size,
                                             .voxel = known_voxel.value_or(VoxelPoint::centroid),
                                             .slices = keywords.slices},
                                 .blocks = keywords.blocks,
                                 .few = known_few.value_or(FewPoints::repeat)});
  if (!known_few) {
    chain.misuse = "points.sample(): few is \"repeat\", \"ragged\" or \"raise\", not \"" + keywords.few + "\"";
  }
  if (!known_voxel) {
    chain.misuse = "points.sample(): voxel is \"centroid\", \"first\" or \"random\", not \"" + keywords.voxel + "\"";
  }
  if (!known_method) {
    chain.misuse = "points.sample(): there is no method \"" + method +
                   "\"; there are random, blocks, fps, voxel, poisson, stratified and inverse_density";
  }
  return chain;
}

Chain voxel(double size, const std::string& mode) {
  Chain chain = sample(0, "voxel", {.size = size, .voxel = mode, .few = "ragged"});
  if (!chain.misuse.empty()) chain.misuse = "points.voxel(): there is no mode \"" + mode + "\"";
  return chain;
}

Chain poisson(double distance) {
  return sample(0, "poisson", {.size = distance, .few = "ragged"});
}

Chain surface(std::int64_t points) {
  return one(step::Surface{.points = points});
}

Chain finite() {
  return one(step::Finite{});
}

Chain center() {
  return one(step::Center{});
}

Chain unit_sphere() {
  return one(step::UnitSphere{});
}

Chain unit_box() {
  return one(step::UnitBox{});
}

Chain scale(double factor) {
  return one(step::Scale{.factor = factor});
}

Chain rotate(const std::string& about) {
  Chain chain = one(step::Rotate{.free = about == "free"});
  if (about != "z" && about != "free") chain.misuse = "points.rotate() turns about \"z\" or \"free\"";
  return chain;
}

Chain jitter(double sigma, double clip) {
  return one(step::Jitter{.sigma = sigma, .clip = clip});
}

Chain random_scale(double low, double high) {
  return one(step::RandomScale{.low = low, .high = high});
}

Chain shift(double range) {
  return one(step::Shift{.range = range});
}

Chain dropout(double most) {
  return one(step::Dropout{.most = most});
}

Chain shuffle() {
  return one(step::ShufflePoints{});
}

Chain pad(std::int64_t points) {
  return one(step::Pad{.points = points});
}

Chain channels_first() {
  return one(step::ChannelsFirst{});
}

Chain cast(DType dtype) {
  return one(step::Cast{.dtype = dtype});
}

Chain attribute(const std::string& name) {
  return one(step::Attribute{.name = name});
}

Chain mask() {
  return one(step::Mask{});
}

Chain origin() {
  return one(step::Origin{});
}

}  // namespace penstock::points
