#include <array>
#include <cmath>
#include <string>

#include <penstock/base/error.hpp>
#include <penstock/transforms/clouds/samplers/fps.hpp>
#include <penstock/transforms/clouds/samplers/inverse_density.hpp>
#include <penstock/transforms/clouds/samplers/poisson.hpp>
#include <penstock/transforms/clouds/samplers/random.hpp>
#include <penstock/transforms/clouds/samplers/stratified.hpp>
#include <penstock/transforms/clouds/samplers/voxel.hpp>

namespace penstock {
namespace {

constexpr std::array<std::string_view, 7> kMethods = {"random",     "blocks",         "fps", "voxel", "poisson",
                                                      "stratified", "inverse_density"};
constexpr std::array<std::string_view, 3> kVoxelPoints = {"centroid", "first", "random"};

constexpr std::int64_t kMostSlices = 4096;

template <class Value, std::size_t kCount>
std::optional<Value> named(const std::array<std::string_view, kCount>& names, std::string_view name) {
  for (std::size_t i = 0; i < kCount; ++i)
    if (names[i] == name) return static_cast<Value>(i);
  return std::nullopt;
}

bool finds_its_own_number(SampleMethod method) {
  return method == SampleMethod::voxel || method == SampleMethod::poisson;
}

void check(const SampleOptions& options) {
  const std::string method(name(options.method));
  const bool own = finds_its_own_number(options.method);
  if (options.points < (own ? 0 : 1))
    throw Error::invalid_argument(method + ": " + std::to_string(options.points) + " points cannot be chosen");
  if (!std::isfinite(options.size) || options.size < 0 || (own && options.size == 0))
    throw Error::invalid_argument(method + " needs a size above 0, in the cloud's unit");
  if (options.method == SampleMethod::stratified && (options.slices < 1 || options.slices > kMostSlices))
    throw Error::invalid_argument("stratified: " + std::to_string(options.slices) + " slices, not 1 to " +
                                  std::to_string(kMostSlices));
}

}  // namespace

std::string_view name(SampleMethod method) {
  return kMethods.at(static_cast<std::size_t>(method));
}

std::optional<SampleMethod> sample_method_named(std::string_view name) {
  return named<SampleMethod>(kMethods, name);
}

std::string_view name(VoxelPoint point) {
  return kVoxelPoints.at(static_cast<std::size_t>(point));
}

std::optional<VoxelPoint> voxel_point_named(std::string_view name) {
  return named<VoxelPoint>(kVoxelPoints, name);
}

std::unique_ptr<PointSampler> make_sampler(const SampleOptions& options) {
  check(options);
  switch (options.method) {
    case SampleMethod::random:
      return random_sampler(options);
    case SampleMethod::fps:
      return fps_sampler(options);
    case SampleMethod::voxel:
      return voxel_sampler(options);
    case SampleMethod::poisson:
      return poisson_sampler(options);
    case SampleMethod::stratified:
      return stratified_sampler(options);
    case SampleMethod::inverse_density:
      return inverse_density_sampler(options);
    case SampleMethod::blocks:
      break;
  }
  throw Error::invalid_argument("blocks are drawn without a sampler, because no coordinates are needed");
}

}  // namespace penstock
