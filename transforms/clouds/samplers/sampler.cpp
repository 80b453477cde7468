#include <array>
#include <string_view>

#include <penstock/transforms/clouds/samplers/sampler.hpp>

namespace penstock {
namespace {

constexpr std::array<std::string_view, 7> kMethods = {"random",     "blocks",         "fps", "voxel", "poisson",
                                                      "stratified", "inverse_density"};
constexpr std::array<std::string_view, 3> kVoxelPoints = {"centroid", "first", "random"};

template <class Value, std::size_t kCount>
std::optional<Value> named(const std::array<std::string_view, kCount>& names, std::string_view name) {
  for (std::size_t i = 0; i < kCount; ++i)
    if (names[i] == name) return static_cast<Value>(i);
  return std::nullopt;
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

}  // namespace penstock
