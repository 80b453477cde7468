#include <algorithm>
#include <array>
#include <string_view>

#include <penstock/points.hpp>

namespace penstock {
namespace {

constexpr std::array<std::string_view, 7> kMethods = {"random",     "blocks",         "fps", "voxel", "poisson",
                                                      "stratified", "inverse_density"};
constexpr std::array<std::string_view, 3> kVoxelPoints = {"centroid", "first", "random"};

}  // namespace

std::span<const std::string_view> choices(SampleMethod) {
  return kMethods;
}

std::span<const std::string_view> choices(VoxelPoint) {
  return kVoxelPoints;
}

std::string_view name(SampleMethod method) {
  return kMethods.at(static_cast<std::size_t>(method));
}

std::optional<SampleMethod> sample_method_named(std::string_view name) {
  const auto found = std::ranges::find(kMethods, name);
  return found == kMethods.end() ? std::nullopt : std::optional(static_cast<SampleMethod>(found - kMethods.begin()));
}

}  // namespace penstock
