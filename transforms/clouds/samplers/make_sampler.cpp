#include <cmath>
#include <string>

#include <penstock/error.hpp>
#include <penstock/points.hpp>
#include <transforms/clouds/samplers/fps.hpp>
#include <transforms/clouds/samplers/inverse_density.hpp>
#include <transforms/clouds/samplers/poisson.hpp>
#include <transforms/clouds/samplers/random.hpp>
#include <transforms/clouds/samplers/sampler.hpp>
#include <transforms/clouds/samplers/stratified.hpp>
#include <transforms/clouds/samplers/voxel.hpp>

namespace penstock {
namespace {

constexpr std::int64_t kMostSlices = 4096;

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
    throw Error::invalid_argument("stratified: " + std::to_string(options.slices) +
                                  " slices are not possible; expected 1 to " + std::to_string(kMostSlices));
}

}  // namespace

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
