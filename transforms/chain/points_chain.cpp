#include <penstock/base/error.hpp>
#include <penstock/transforms/chain/chain.hpp>
#include <penstock/transforms/chain/check_numbers.hpp>

namespace penstock::points {
namespace {

[[noreturn]] void refuse(std::string cause) {
  throw Error::invalid_argument(std::move(cause));
}

std::optional<FewPoints> few_named(std::string_view name) {
  if (name == "repeat") return FewPoints::repeat;
  if (name == "ragged") return FewPoints::ragged;
  if (name == "raise") return FewPoints::raise;
  return std::nullopt;
}

}  // namespace

Chain decode(std::vector<std::string> attributes, std::int64_t columns) {
  return one_step(step::CloudDecode{.attributes = std::move(attributes), .columns = columns});
}

Chain sample(std::int64_t points, const std::string& method, const SampleKeywords& keywords) {
  const auto known_method = sample_method_named(method);
  const auto known_voxel = voxel_point_named(keywords.voxel);
  const auto known_few = few_named(keywords.few);
  if (!known_method) {
    refuse("points.sample(): there is no method \"" + method +
           "\"; there are random, blocks, fps, voxel, poisson, stratified and inverse_density");
  }
  if (!known_voxel) {
    refuse("points.sample(): voxel is \"centroid\", \"first\" or \"random\", not \"" + keywords.voxel + "\"");
  }
  if (!known_few) {
    refuse("points.sample(): few is \"repeat\", \"ragged\" or \"raise\", not \"" + keywords.few + "\"");
  }
  return one_step(step::Sample{.options = {.method = *known_method,
                                           .points = points,
                                           .size = keywords.size,
                                           .voxel = *known_voxel,
                                           .slices = keywords.slices},
                               .blocks = keywords.blocks,
                               .few = *known_few});
}

Chain voxel(double size, const std::string& mode) {
  if (!voxel_point_named(mode)) refuse("points.voxel(): there is no mode \"" + mode + "\"");
  return sample(0, "voxel", {.size = size, .voxel = mode, .few = "ragged"});
}

Chain poisson(double distance) {
  return sample(0, "poisson", {.size = distance, .few = "ragged"});
}

Chain surface(std::int64_t points) {
  return one_step(step::Surface{.points = points});
}

Chain finite() {
  return one_step(step::Finite{});
}

Chain center() {
  return one_step(step::Center{});
}

Chain unit_sphere() {
  return one_step(step::UnitSphere{});
}

Chain unit_box() {
  return one_step(step::UnitBox{});
}

Chain scale(double factor) {
  return one_step(step::Scale{.factor = factor});
}

Chain rotate(const std::string& about) {
  if (about != "z" && about != "free") refuse("points.rotate() turns about \"z\" or \"free\"");
  return one_step(step::Rotate{.free = about == "free"});
}

Chain jitter(double sigma, double clip) {
  return one_step(step::Jitter{.sigma = sigma, .clip = clip});
}

Chain random_scale(double low, double high) {
  return one_step(step::RandomScale{.low = low, .high = high});
}

Chain shift(double range) {
  return one_step(step::Shift{.range = range});
}

Chain dropout(double most) {
  return one_step(step::Dropout{.most = most});
}

Chain shuffle() {
  return one_step(step::ShufflePoints{});
}

Chain pad(std::int64_t points) {
  return one_step(step::Pad{.points = points});
}

Chain channels_first() {
  return one_step(step::ChannelsFirst{});
}

Chain cast(DType dtype) {
  return one_step(step::Cast{.dtype = dtype});
}

Chain attribute(const std::string& name) {
  return one_step(step::Attribute{.name = name});
}

Chain mask() {
  return one_step(step::Mask{});
}

Chain origin() {
  return one_step(step::Origin{});
}

}  // namespace penstock::points
