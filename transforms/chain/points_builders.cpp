#include <array>

#include <penstock/transforms/chain/builders.hpp>

namespace penstock::chain_parse {
namespace {

Chain sample(StepArguments& given) {
  points::SampleKeywords keywords;
  const std::int64_t wanted = given.whole(0, "points");
  const std::string method = given.text(1, "method", "random");
  keywords.size = given.real(StepArguments::kByKeyword, "size", keywords.size);
  keywords.voxel = given.text(StepArguments::kByKeyword, "voxel", keywords.voxel);
  keywords.slices = given.whole(StepArguments::kByKeyword, "slices", keywords.slices);
  keywords.blocks = given.whole(StepArguments::kByKeyword, "blocks", keywords.blocks);
  keywords.few = given.text(StepArguments::kByKeyword, "few", keywords.few);
  return points::sample(wanted, method, keywords);
}

Chain decode_points(StepArguments& given) {
  const Argument* attributes = given.find(0, "attributes");
  if (attributes != nullptr && !attributes->list) throw misfit("attributes is to be a list of names");
  return points::decode(attributes == nullptr ? std::vector<std::string>{} : attributes->words,
                        given.whole(1, "columns", 0));
}

constexpr std::array kBuilders{
    Builder{"points.attribute", [](StepArguments& given) { return points::attribute(given.text(0, "name", "")); }},
    Builder{"points.cast", [](StepArguments& given) { return points::cast(given.dtype()); }},
    Builder{"points.center", [](StepArguments&) { return points::center(); }},
    Builder{"points.channels_first", [](StepArguments&) { return points::channels_first(); }},
    Builder{"points.decode", decode_points},
    Builder{"points.dropout", [](StepArguments& given) { return points::dropout(given.real(0, "most", 0.875)); }},
    Builder{"points.finite", [](StepArguments&) { return points::finite(); }},
    Builder{
        "points.jitter",
        [](StepArguments& given) { return points::jitter(given.real(0, "sigma", 0.01), given.real(1, "clip", 0.05)); }},
    Builder{"points.mask", [](StepArguments&) { return points::mask(); }},
    Builder{"points.origin", [](StepArguments&) { return points::origin(); }},
    Builder{"points.pad", [](StepArguments& given) { return points::pad(given.whole(0, "points")); }},
    Builder{"points.poisson", [](StepArguments& given) { return points::poisson(given.real(0, "distance", 0)); }},
    Builder{"points.random_scale",
            [](StepArguments& given) {
              return points::random_scale(given.real(0, "low", 0.8), given.real(1, "high", 1.25));
            }},
    Builder{"points.rotate", [](StepArguments& given) { return points::rotate(given.text(0, "about", "z")); }},
    Builder{"points.sample", sample},
    Builder{"points.scale", [](StepArguments& given) { return points::scale(given.real(0, "factor", 1)); }},
    Builder{"points.shift", [](StepArguments& given) { return points::shift(given.real(0, "range", 0.1)); }},
    Builder{"points.shuffle", [](StepArguments&) { return points::shuffle(); }},
    Builder{"points.surface", [](StepArguments& given) { return points::surface(given.whole(0, "points")); }},
    Builder{"points.unit_box", [](StepArguments&) { return points::unit_box(); }},
    Builder{"points.unit_sphere", [](StepArguments&) { return points::unit_sphere(); }},
    Builder{"points.voxel",
            [](StepArguments& given) {
              return points::voxel(given.real(0, "size", 0), given.text(1, "mode", "centroid"));
            }},
};

}  // namespace

std::span<const Builder> points_builders() {
  return kBuilders;
}

}  // namespace penstock::chain_parse
